# What `cmake --install` puts where, and the CMake and pkg-config packages.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(loam_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/loam)
install(TARGETS loam-api loam_shared EXPORT loam-targets)
install(TARGETS loam_static loam-checking_shared loam-checking_static)
install(FILES ${loam_lib_dir}/loam.o ${loam_lib_dir}/loam-checking.o
  DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/loam DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE-MIT LICENSE-APACHE CHANGELOG.md README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The command, if `make cli` has built it.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/build/bin/loam DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)

install(EXPORT loam-targets NAMESPACE loam:: DESTINATION ${loam_package_dir})
configure_package_config_file(cmake/loam-config.cmake.in package/loam-config.cmake
  INSTALL_DESTINATION ${loam_package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(package/loam-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/package/loam-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/package/loam-config-version.cmake
  cmake/loam-override.cmake cmake/loam-verify.cmake
  DESTINATION ${loam_package_dir})

foreach(name loam loam-override)
  configure_file(cmake/${name}.pc.in package/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
