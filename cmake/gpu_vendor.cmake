# infini_add_gpu_vendor(NAME HOME dir COMPILER program IN folder RUNTIME library FLAGS ...): the shared GPU
# source with the vendor.h of the current folder, by the vendor's compiler (HOME/folder/program) and
# runtime (HOME/lib). Where the SDK is absent, our emulator of the dialect takes its place
# (emulators/simt), or with INFINI_VENDORS_OVER_CUDA the vendor's names over CUDA; such modules are for
# tests. ON_REQUEST: an emulated one is not part of `all`, since it differs from another vendor's by its
# name alone.
function(infini_add_gpu_vendor name)
  cmake_parse_arguments(ARG "ON_REQUEST" "HOME;COMPILER;IN;RUNTIME" "FLAGS" ${ARGN})
  find_program(INFINI_${name}_COMPILER ${ARG_COMPILER} PATHS ${ARG_HOME}/${ARG_IN} NO_DEFAULT_PATH)
  find_library(INFINI_${name}_RUNTIME ${ARG_RUNTIME} PATHS ${ARG_HOME}/lib ${ARG_HOME}/lib64 NO_DEFAULT_PATH)
  if(ARG_HOME AND INFINI_${name}_COMPILER AND INFINI_${name}_RUNTIME)
    infini_compile_kernels(COMPILER ${INFINI_${name}_COMPILER} INCLUDES ${ARG_HOME}/include
                             FLAGS ${ARG_FLAGS} -fPIC -fvisibility=hidden)
    infini_add_gpu_module(${name} INCLUDES ${ARG_HOME}/include RUNTIME ${INFINI_${name}_RUNTIME})
    return()
  endif()
  if(NOT INFINI_EMULATORS OR NOT INFINI_BUILD_TESTS)
    return()
  endif()

  if(INFINI_VENDORS_OVER_CUDA AND CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit REQUIRED)
    set(includes ${PROJECT_BINARY_DIR}/emulators/simt/over_cuda ${CUDAToolkit_INCLUDE_DIRS})
    infini_compile_kernels(COMPILER ${CMAKE_CUDA_COMPILER} INCLUDES ${includes}
      FLAGS -x cu -arch=sm_90 --expt-relaxed-constexpr -Xcompiler=-fPIC,-fvisibility=hidden)
    infini_add_gpu_module(${name} EMULATED INCLUDES ${includes} RUNTIME CUDA::cudart_static)
  else()
    simt_emulated_sources(${INFINI_GPU_DEVICE_SOURCES} DEFINES INFINI_DEVICE_CODE)
    set(kernels ${INFINI_GPU_DEVICE_SOURCES})
    infini_add_gpu_module(${name} EMULATED INCLUDES ${PROJECT_BINARY_DIR}/emulators/simt/include RUNTIME simtrt)
  endif()
  if(ARG_ON_REQUEST)
    set_target_properties(infini-${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# The device sources by a vendor's compiler; sets `kernels` to the objects.
function(infini_compile_kernels)
  cmake_parse_arguments(ARG "" "COMPILER" "INCLUDES;FLAGS" ${ARGN})
  list(TRANSFORM ARG_INCLUDES PREPEND -I)
  set(objects "")
  foreach(source IN LISTS INFINI_GPU_DEVICE_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_CUDA_COMPILER_LAUNCHER} ${ARG_COMPILER} ${ARG_FLAGS} -std=c++20 -O2 -DNDEBUG -DINFINI_DEVICE_CODE
              -I${CMAKE_CURRENT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include ${ARG_INCLUDES}
              -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    list(APPEND objects ${object})
  endforeach()
  set(kernels ${objects} PARENT_SCOPE)
endfunction()

# The module itself; `kernels` are the kernels' sources or objects.
function(infini_add_gpu_module name)
  cmake_parse_arguments(ARG "EMULATED" "RUNTIME" "INCLUDES" ${ARGN})
  set(emulated "")
  if(ARG_EMULATED)
    set(emulated EMULATED)
  endif()
  infini_add_module(${name} ${emulated} ${PROJECT_SOURCE_DIR}/src/backends/gpu/backend.cpp ${INFINI_GPU_HOST_SOURCES} ${kernels})
  target_link_libraries(infini-${name} PRIVATE infini_gpu_schedules ${ARG_RUNTIME})
  target_include_directories(infini-${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(infini-${name} SYSTEM PRIVATE ${ARG_INCLUDES})
  target_link_options(infini-${name} PRIVATE -Wl,--no-undefined)
endfunction()
