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
install(FILES LICENSE-MIT LICENSE-APACHE CHANGELOG.md README.md CONTRIBUTING.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY integrations/llvm DESTINATION ${CMAKE_INSTALL_DOCDIR}/integrations
  FILES_MATCHING PATTERN "*.md" PATTERN "*.patch")
# The command, if `make cli` has built it, with what scripts/share.sh has made it say, and the objects
# of `make objects`, where the command looks for them.
install(PROGRAMS ${loam_output_dir}/bin/loam DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
install(DIRECTORY ${loam_lib_dir}/graft/ DESTINATION lib/loam/graft
  OPTIONAL FILES_MATCHING PATTERN "loam-*.o")
# Libraries for programs of 32 bits, which a release has.
install(DIRECTORY ${loam_lib_dir}/loam/ DESTINATION lib/loam OPTIONAL FILES_MATCHING PATTERN "*.so")
install(DIRECTORY ${loam_output_dir}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  OPTIONAL FILES_MATCHING PATTERN "*.1")
foreach(place bash-completion/completions/loam zsh/vendor-completions/_loam
    fish/vendor_completions.d/loam.fish)
  cmake_path(GET place PARENT_PATH folder)
  cmake_path(GET place FILENAME script)
  install(FILES ${loam_output_dir}/completions/${script}
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/${folder} OPTIONAL)
endforeach()
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
