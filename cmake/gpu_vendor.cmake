# infini_add_gpu_vendor(NAME HOME dir COMPILER program IN folder RUNTIME library FLAGS ...): the shared GPU
# source with the vendor.h of the current folder, by the vendor's compiler (HOME/folder/program) and
# runtime (HOME/lib). Where the SDK is absent but nvcc is there, the vendor's names over CUDA take its
# place (emulators/simt); such a module is for tests. ON_REQUEST: it is not part of `all`, since it
# differs from another vendor's by its name alone.
function(infini_add_gpu_vendor name)
  cmake_parse_arguments(ARG "ON_REQUEST" "HOME;COMPILER;IN;RUNTIME" "FLAGS" ${ARGN})
  find_program(INFINI_${name}_COMPILER ${ARG_COMPILER} PATHS ${ARG_HOME}/${ARG_IN} NO_DEFAULT_PATH)
  find_library(INFINI_${name}_RUNTIME ${ARG_RUNTIME} PATHS ${ARG_HOME}/lib ${ARG_HOME}/lib64 NO_DEFAULT_PATH)
  set(compiler ${INFINI_${name}_COMPILER})
  if(ARG_HOME AND compiler AND INFINI_${name}_RUNTIME)
    set(includes ${ARG_HOME}/include)
    set(runtime ${INFINI_${name}_RUNTIME})
    set(flags ${ARG_FLAGS} -fPIC -fvisibility=hidden)
    set(emulated "")
  elseif(INFINI_EMULATORS AND INFINI_BUILD_TESTS AND INFINI_NVIDIA AND CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit REQUIRED)
    set(compiler ${CMAKE_CUDA_COMPILER})
    set(includes ${PROJECT_BINARY_DIR}/emulators/simt/include ${CUDAToolkit_INCLUDE_DIRS})
    set(runtime CUDA::cudart_static)
    set(flags -x cu -arch=sm_90 --expt-relaxed-constexpr -Xcompiler=-fPIC,-fvisibility=hidden)
    set(emulated EMULATED)
  else()
    return()
  endif()

  set(object ${CMAKE_CURRENT_BINARY_DIR}/rearrange.o)
  set(shared ${PROJECT_SOURCE_DIR}/src/backends/gpu)
  list(TRANSFORM includes PREPEND -I OUTPUT_VARIABLE include_flags)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_CUDA_COMPILER_LAUNCHER} ${compiler} ${flags} -std=c++20 -O2 -DNDEBUG -DINFINI_DEVICE_CODE
            -I${CMAKE_CURRENT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include ${include_flags}
            -MD -MF ${object}.d -MT ${object} -c ${shared}/rearrange.cu -o ${object}
    DEPENDS ${shared}/rearrange.cu
    DEPFILE ${object}.d
    VERBATIM)
  infini_add_module(${name} ${emulated}
    ${shared}/backend.cpp ${shared}/device.cpp ${shared}/stream_park.cpp ${object})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_link_libraries(infini-${name} PRIVATE infini_gpu_schedules ${runtime})
  target_include_directories(infini-${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(infini-${name} SYSTEM PRIVATE ${includes})
  target_link_options(infini-${name} PRIVATE -Wl,--no-undefined)
  if(emulated AND ARG_ON_REQUEST)
    set_target_properties(infini-${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
