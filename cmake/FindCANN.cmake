# FindCANN: the target CANN::CANN, from the SDK at ASCEND_HOME_PATH (environment or cache) or ASCEND_TOOLKIT_HOME, else
# from the emulator in this tree when INFINI_EMULATORS is on. Sets CANN_FOUND and CANN_EMULATED.
set(CANN_EMULATED FALSE)
find_path(CANN_INCLUDE_DIR acl/acl.h
          HINTS ${ASCEND_HOME_PATH} ENV ASCEND_HOME_PATH ENV ASCEND_TOOLKIT_HOME PATH_SUFFIXES include NO_DEFAULT_PATH)
set(CANN_LIBRARIES)
foreach(name ascendcl nnopbase opapi runtime)
  find_library(CANN_${name}_LIBRARY ${name}
               HINTS ${ASCEND_HOME_PATH} ENV ASCEND_HOME_PATH ENV ASCEND_TOOLKIT_HOME PATH_SUFFIXES lib64 lib
                     runtime/lib64 NO_DEFAULT_PATH)
  list(APPEND CANN_LIBRARIES ${CANN_${name}_LIBRARY})
endforeach()

if(CANN_INCLUDE_DIR AND CANN_ascendcl_LIBRARY AND CANN_nnopbase_LIBRARY AND CANN_opapi_LIBRARY AND CANN_runtime_LIBRARY)
  set(CANN_FOUND TRUE)
  if(NOT TARGET CANN::CANN)
    add_library(CANN::CANN INTERFACE IMPORTED)
    set_target_properties(CANN::CANN PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CANN_INCLUDE_DIR}
                          INTERFACE_LINK_LIBRARIES "${CANN_LIBRARIES}")
  endif()
elseif(TARGET cann_emulator)
  set(CANN_FOUND TRUE)
  set(CANN_EMULATED TRUE)
  if(NOT TARGET CANN::CANN)
    add_library(CANN::CANN ALIAS cann_emulator)
  endif()
else()
  set(CANN_FOUND FALSE)
endif()
