# What `cmake --install` puts where, and the CMake and pkg-config packages.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Where the libraries' folder is, `make` puts the command and its manual beside it.
cmake_path(GET loam_lib_dir PARENT_PATH loam_output_dir)
set(loam_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/loam)
install(TARGETS ${loam_exported} EXPORT loam-targets)
install(TARGETS loam_static loam-checking_static ${loam_other_shared_libraries})
install(FILES ${loam_lib_dir}/loam.o ${loam_lib_dir}/loam-checking.o
  DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/loam DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE-MIT LICENSE-APACHE CHANGELOG.md README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The command, if `make cli` has built it.
install(PROGRAMS ${loam_output_dir}/bin/loam DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
install(CODE [[
  set(command "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/loam")
  if(CMAKE_INSTALL_DO_STRIP AND EXISTS "${command}")
    execute_process(COMMAND strip "${command}")
  endif()]])

install(EXPORT loam-targets NAMESPACE loam:: DESTINATION ${loam_package_dir})
configure_package_config_file(cmake/loam-config.cmake.in package/loam-config.cmake
  INSTALL_DESTINATION ${loam_package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(package/loam-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/package/loam-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/package/loam-config-version.cmake
  cmake/loam-override.cmake cmake/loam-verify.cmake cmake/loam-verify-symbols.cmake
  DESTINATION ${loam_package_dir})

# Relative, so that the installed folders can be moved.
file(RELATIVE_PATH loam_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name loam loam-override)
  configure_file(cmake/${name}.pc.in package/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ---- packages: `make deb` calls CPack ---
set(CPACK_PACKAGE_CONTACT "loam contributors <loam@example.org>" CACHE STRING
  "The maintainer named in packages")
set(loam_packaging_dir ${CMAKE_CURRENT_BINARY_DIR}/packaging)
file(READ LICENSE-MIT loam_licence)
configure_file(cmake/copyright.in packaging/copyright @ONLY)
install(FILES ${loam_packaging_dir}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Debian wants a changelog of its own form, packed.
configure_file(cmake/debian-changelog.in packaging/changelog @ONLY)
find_program(LOAM_GZIP gzip DOC "Packs the Debian package's changelog")
if(LOAM_GZIP)
  execute_process(COMMAND ${LOAM_GZIP} -9nf ${loam_packaging_dir}/changelog)
  install(FILES ${loam_packaging_dir}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
install(DIRECTORY ${loam_output_dir}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  OPTIONAL FILES_MATCHING PATTERN "*.1.gz")

set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME loam)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
file(WRITE ${loam_packaging_dir}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${loam_packaging_dir}/triggers)
set(CPACK_PACKAGE_DESCRIPTION "loam replaces the malloc of a program: preloaded, or linked in. The
 loam command runs programs on it and proves that the replacement took effect.")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "general-purpose memory allocator and its command")
include(CPack)
