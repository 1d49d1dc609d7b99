# Installation: headers, the library under its three names, modules, CMake package and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS infini EXPORT infiniTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Existing clients open libinfinirt.so and libinfiniop.so: the same library under other names.
foreach(alias infinirt infiniop infiniccl infinicore_cpp_api)
  install(FILES ${PROJECT_BINARY_DIR}/lib/lib${alias}.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
install(TARGETS infini-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Its manual page, and its completion in shells.
configure_file(tools/infini.1.in ${PROJECT_BINARY_DIR}/infini.1 @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infini.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES tools/shell/infini.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME infini)
install(FILES tools/shell/_infini DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES tools/shell/infini.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(EXPORT infiniTargets NAMESPACE infini:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
configure_package_config_file(cmake/infiniConfig.cmake.in ${PROJECT_BINARY_DIR}/infiniConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/infiniConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/infiniConfig.cmake ${PROJECT_BINARY_DIR}/infiniConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
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
configure_file(cmake/infini.pc.in ${PROJECT_BINARY_DIR}/infini.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infini.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
