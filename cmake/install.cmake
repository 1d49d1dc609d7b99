# Installation: headers, the library under its three names, modules, CMake package and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS infini EXPORT infiniTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Existing clients open libinfinirt.so and libinfiniop.so: the same library under other names.
foreach(alias infinirt infiniop)
  install(FILES ${PROJECT_BINARY_DIR}/lib/lib${alias}.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
install(TARGETS infini-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(EXPORT infiniTargets NAMESPACE infini:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
configure_package_config_file(cmake/infiniConfig.cmake.in ${PROJECT_BINARY_DIR}/infiniConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/infiniConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/infiniConfig.cmake ${PROJECT_BINARY_DIR}/infiniConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/infini)
configure_file(cmake/infini.pc.in ${PROJECT_BINARY_DIR}/infini.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/infini.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
