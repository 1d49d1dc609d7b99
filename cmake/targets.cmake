# The few ways in which this project makes targets.
find_package(Threads REQUIRED)
if(INFINI_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# infini_add_module(NAME [EMULATED] SOURCES...): a backend module lib/libinfini-NAME.so. It carries base and plan
# itself and exports infini_backend() alone. An EMULATED one is for tests and is not installed.
function(infini_add_module name)
  cmake_parse_arguments(ARG "EMULATED" "" "" ${ARGN})
  add_library(infini-${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(infini-${name} PRIVATE infini_plan)
  set_target_properties(infini-${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  if(NOT ARG_EMULATED AND INFINI_INSTALL)
    install(TARGETS infini-${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
    set_property(GLOBAL APPEND PROPERTY INFINI_INSTALLED_MODULES infini-${name})
  endif()
endfunction()

# infini_find_provider(NAME NAMES ... [PATH_SUFFIXES ...]): looks for an optional library as INFINI_<NAME> says (AUTO, ON,
# OFF) and sets <NAME>_PATH to its path as a C string, or to nullptr. INFINI_<NAME>_LIBRARY names another file.
function(infini_find_provider name)
  set(path nullptr)
  if(INFINI_${name})
    find_library(INFINI_${name}_LIBRARY ${ARGN})
    if(INFINI_${name}_LIBRARY)
      set(path "\"${INFINI_${name}_LIBRARY}\"")
    elseif(NOT INFINI_${name} STREQUAL "AUTO")
      message(FATAL_ERROR "INFINI_${name} is ON and no such library was found; INFINI_${name}_LIBRARY can name it")
    endif()
    message(STATUS "Gemm provider ${name}: ${INFINI_${name}_LIBRARY}")
  endif()
  set(${name}_PATH ${path} PARENT_SCOPE)
endfunction()

# A compiler cache (a launcher) knows nothing of precompiled headers and does without.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# Tests read GoogleTest's and the standard's headers once, and are not optimised beyond what makes them short to run: half of
# a build is theirs.
if(INFINI_BUILD_TESTS)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "// Only its headers count.\n")
  add_library(infini_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cpp)
  target_link_libraries(infini_test_headers PRIVATE GTest::gtest)
  target_precompile_headers(infini_test_headers PRIVATE <gtest/gtest.h> <algorithm> <array> <functional> <memory> <optional>
                            <random> <sstream> <string> <thread> <vector>)
  # Programs are compiled so, and precompiled headers serve no others.
  set_target_properties(infini_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(infini_test_headers PRIVATE -fPIE)
endif()
function(infini_compile_as_test target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_precompile_headers(${target} REUSE_FROM infini_test_headers)
endfunction()

# infini_add_test(NAME [SOURCES...] [LIBS ...] [ENV ...]): a GoogleTest program, one ctest entry. It
# links the whole library's objects, hidden parts included.
function(infini_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;ENV" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  infini_compile_as_test(${name})
  target_link_libraries(${name} PRIVATE infini_objects ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "INFINI_BACKEND_PATH=${CMAKE_LIBRARY_OUTPUT_DIRECTORY};ASAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1:report_thread_leaks=0;${ARG_ENV}")
endfunction()
