# What `cmake --install` puts where, and the target `uninstall`.
include(CMakePackageConfigHelpers)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/strata)
configure_package_config_file(cmake/strata-config.cmake.in ${PROJECT_BINARY_DIR}/strata-config.cmake
                              INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change what others use.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strata-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strata-config.cmake ${PROJECT_BINARY_DIR}/strata-config-version.cmake
        DESTINATION ${config_folder} COMPONENT dev)
install(EXPORT strata-targets NAMESPACE strata:: DESTINATION ${config_folder} COMPONENT dev)

# The folder of strata-mllog.pc knows the prefix, wherever it was moved to.
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/strata-mllog.pc.in ${PROJECT_BINARY_DIR}/strata-mllog.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/strata-mllog.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# Pages that a build has made there.
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${STRATA_PROGRAM_COMPONENT}
        OPTIONAL FILES_MATCHING PATTERN "*.1" PATTERN "*.1.gz")

configure_file(cmake/Uninstall.cmake.in ${PROJECT_BINARY_DIR}/Uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/Uninstall.cmake
                  COMMENT "Removing what was installed" VERBATIM)

