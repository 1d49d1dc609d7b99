# Builds the CPU's rearrange kernels for aarch64 and runs their test under qemu-user. Skips with a
# reason where the cross compiler or qemu is absent.
find_program(COMPILER aarch64-linux-gnu-g++)
find_program(QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(NOT COMPILER OR NOT QEMU)
  message(STATUS "SKIPPED: needs aarch64-linux-gnu-g++ (${COMPILER}) and qemu-aarch64 (${QEMU})")
  return()
endif()
set(sources tests/neon_kernels.cpp src/backends/cpu/rearrange/panels/neon.cpp src/backends/cpu/rearrange/panels/portable.cpp
    src/backends/cpu/machine/isa.cpp src/backends/cpu/rearrange/shuffle/neon.cpp src/backends/cpu/rearrange/shuffle/program.cpp
    src/backends/cpu/rearrange/copy_bytes.cpp src/base/environment.cpp
    src/base/device_kind.cpp)
list(TRANSFORM sources PREPEND ${SOURCE}/)
execute_process(COMMAND ${COMPILER} -std=c++20 -O2 -Wall -Wextra -static -I${SOURCE}/src
                -I${SOURCE}/include ${sources} -o ${BUILD}/neon_kernels COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${QEMU} ${BUILD}/neon_kernels COMMAND_ERROR_IS_FATAL ANY)
