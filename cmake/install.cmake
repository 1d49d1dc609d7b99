# Installation, in three components: `library` (with its modules), `devel` (headers, CMake package, pkg-config, the names
# that programs are linked with) and `tool`.
include(CMakePackageConfigHelpers)

install(TARGETS infini EXPORT infiniTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT devel
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel)
# Existing clients open libinfinirt.so and libinfiniop.so: the same library under other names.
if(NOT INFINI_STATIC)
  foreach(alias infinirt infiniop infiniccl infinicore_cpp_api)
    install(FILES ${PROJECT_BINARY_DIR}/lib/lib${alias}.so DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel)
  endforeach()
endif()
# The tool finds the library by the way from its own folder, wherever the prefix is moved to.
file(RELATIVE_PATH tool_to_library ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(infini-cli PROPERTIES INSTALL_RPATH "$ORIGIN/${tool_to_library}")
install(TARGETS infini-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
# Its manual page, and its completion in shells.
configure_file(tools/infini.1.in ${PROJECT_BINARY_DIR}/infini.1 @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infini.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
install(FILES tools/shell/infini.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME infini COMPONENT tool)
install(FILES tools/shell/_infini DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tool)
install(FILES tools/shell/infini.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tool)

install(EXPORT infiniTargets NAMESPACE infini:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini COMPONENT devel)
configure_package_config_file(cmake/infiniConfig.cmake.in ${PROJECT_BINARY_DIR}/infiniConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/infiniConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/infiniConfig.cmake ${PROJECT_BINARY_DIR}/infiniConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini COMPONENT devel)
# Relative to the file, wherever the prefix is moved to; libdir may lie deeper than one folder (multiarch), or be absolute.
foreach(kind LIB INCLUDE)
  set(pc_${kind}DIR ${CMAKE_INSTALL_${kind}DIR})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_${kind}DIR})
    set(pc_${kind}DIR "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
  endif()
endforeach()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  set(pc_prefix "\${pcfiledir}/${pc_up}")
endif()
set(pc_static "")
if(INFINI_STATIC)
  set(pc_static " -lstdc++ -lm -lpthread -ldl")  # what the archive needs of the system
endif()
configure_file(cmake/infini.pc.in ${PROJECT_BINARY_DIR}/infini.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infini.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)
