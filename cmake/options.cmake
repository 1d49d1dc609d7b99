# Options and the flags that every target gets.
option(INFINI_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(INFINI_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(INFINI_FUZZ "Build the fuzz targets, with clang; see the preset fuzz" OFF)
option(INFINI_WERROR "Treat warnings as errors" OFF)
option(INFINI_EMULATORS "Build the backends whose SDK is absent against our emulators" ${PROJECT_IS_TOP_LEVEL})
set(static_default OFF)
if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
  set(static_default ON)
endif()
option(INFINI_STATIC "libinfini.a instead of libinfini.so; also what BUILD_SHARED_LIBS=OFF says" ${static_default})
option(INFINI_INSTALL "Rules for installing" ${PROJECT_IS_TOP_LEVEL})
option(INFINI_VENDORS_OVER_CUDA "Build the CUDA-like vendors over CUDA instead, for tests on a real GPU" OFF)
option(INFINI_NVIDIA "Build the NVIDIA backend where nvcc is found" ON)
set(INFINI_OPENBLAS AUTO CACHE STRING "OpenBLAS as a candidate for f32 and f64 products: AUTO (where found), ON or OFF")
set(INFINI_ONEDNN AUTO CACHE STRING "oneDNN 3 as a candidate for f32 products: AUTO (where found), ON or OFF")
set(INFINI_IO_URING AUTO CACHE STRING "Reads of files through io_uring: AUTO (where liburing.h is found), ON or OFF")
set(python_default OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(python_default AUTO)
endif()
set(INFINI_PYTHON ${python_default} CACHE STRING "The Python package: AUTO (where Python's headers and nanobind are found), ON or OFF")
set(INFINI_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# All libraries and modules in one folder: modules are looked for beside the library.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# Designated initialisers leave the other members at their defaults on purpose.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra>
                    $<$<COMPILE_LANGUAGE:C,CXX>:-Wno-missing-field-initializers>)
# g++ 12 sees overlapping copies in std::string at -O3 where there are none.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(INFINI_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
if(INFINI_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${INFINI_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  # Enumerations of a C API may hold any int: what clients pass is checked, not assumed.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=enum>)
  # What these two need is in clang's C++ runtime, which C programs that use the library do not link.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=vptr,function>)
  add_link_options(-fsanitize=${INFINI_SANITIZE})
endif()
