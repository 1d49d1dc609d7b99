# Installs what the wheel holds into an empty folder and uses it from there, with nothing else of the build.
set(folder ${BUILD}/python/wheel)
file(REMOVE_RECURSE ${folder})
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY / RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${text}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --component python --prefix ${folder})
set(ENV{PYTHONPATH} ${folder})
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
unset(ENV{INFINI_BACKEND_PATH})
run(${PYTHON} -c [[
import infini
into = bytearray(6)
infini.copy(memoryview(into)[::-1], b"abcdef")
assert into == b"fedcba" and "cpu:0" in infini.devices(), into
maps = open("/proc/self/maps").read()
library = [line for line in maps.splitlines() if "libinfini.so" in line]
assert library and all(infini.__path__[0] in line for line in library), library
]])
