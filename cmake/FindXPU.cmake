# Finds the Kunlun SDK: XRE (runtime), XTDK (kernel compiler) and XBLAS, below KUNLUN_HOME.
# Where it is absent and INFINI_EMULATORS is on, our emulator of it takes its place.
#
# Gives XPU::runtime, XPU::blas, XPU_EMULATED, and xpu_add_kernels(TARGET FILES...), which compiles
# .xpu sources into an object library.
set(KUNLUN_HOME "$ENV{KUNLUN_HOME}" CACHE PATH "Where the Kunlun SDK is")
set(KUNLUN_ARCH xpu3 CACHE STRING "The chip that kernels are compiled for")

find_path(XPU_INCLUDE_DIR xpu/runtime.h PATHS ${KUNLUN_HOME}/xre/include NO_DEFAULT_PATH)
find_library(XPU_RUNTIME_LIBRARY xpurt PATHS ${KUNLUN_HOME}/xre/so ${KUNLUN_HOME}/xre/lib
             NO_DEFAULT_PATH)
find_path(XPU_BLAS_INCLUDE_DIR cublas_v2.h PATHS ${KUNLUN_HOME}/xhpc/xblas/include NO_DEFAULT_PATH)
find_library(XPU_BLAS_LIBRARY xpu_blas PATHS ${KUNLUN_HOME}/xhpc/xblas/so
             ${KUNLUN_HOME}/xhpc/xblas/lib NO_DEFAULT_PATH)
find_program(XPU_COMPILER clang++ PATHS ${KUNLUN_HOME}/xtdk/bin NO_DEFAULT_PATH)

set(XPU_EMULATED OFF)
if(NOT XPU_INCLUDE_DIR AND TARGET xpurt)
  set(XPU_EMULATED ON)
  set(XPU_FOUND ON)
  if(NOT TARGET XPU::runtime)
    add_library(XPU::runtime ALIAS xpurt)
    add_library(XPU::blas ALIAS xpu_blas)
  endif()
  function(xpu_add_kernels target)
    xpu_emulated_sources(${ARGN})
    target_sources(${target} PRIVATE ${ARGN})
  endfunction()
  return()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XPU REQUIRED_VARS XPU_INCLUDE_DIR XPU_RUNTIME_LIBRARY
                                  XPU_BLAS_INCLUDE_DIR XPU_BLAS_LIBRARY XPU_COMPILER)
if(NOT XPU_FOUND)
  return()
endif()
add_library(XPU::runtime UNKNOWN IMPORTED)
set_target_properties(XPU::runtime PROPERTIES IMPORTED_LOCATION ${XPU_RUNTIME_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${XPU_INCLUDE_DIR})
add_library(XPU::blas UNKNOWN IMPORTED)
set_target_properties(XPU::blas PROPERTIES IMPORTED_LOCATION ${XPU_BLAS_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES "${XPU_BLAS_INCLUDE_DIR};${XPU_INCLUDE_DIR}")

function(xpu_add_kernels target)
  file(GLOB headers ${CMAKE_CURRENT_SOURCE_DIR}/operators/*.h)
  foreach(source IN LISTS ARGN)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${XPU_COMPILER} --sysroot=/ --target=${CMAKE_SYSTEM_PROCESSOR}-linux-gnu -fPIC
              --xpu-arch=${KUNLUN_ARCH} -std=c++17 -O2 -fno-builtin -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
              -I${XPU_INCLUDE_DIR} -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/tile.h ${CMAKE_CURRENT_SOURCE_DIR}/tile_walk.h
              ${CMAKE_CURRENT_SOURCE_DIR}/launch.h ${CMAKE_CURRENT_SOURCE_DIR}/kernels.h ${headers}
      VERBATIM)
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
endfunction()
