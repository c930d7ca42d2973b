# Installs files, makes packages with CPack, and adds the target `uninstall`.
include(CMakePackageConfigHelpers)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/strata)
configure_package_config_file(cmake/strata-config.cmake.in ${PROJECT_BINARY_DIR}/strata-config.cmake
                              INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strata-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strata-config.cmake ${PROJECT_BINARY_DIR}/strata-config-version.cmake
        DESTINATION ${config_folder} COMPONENT dev)
install(EXPORT strata-targets NAMESPACE strata:: DESTINATION ${config_folder} COMPONENT dev)

# strata-mllog.pc finds the prefix from its own folder, even if it was moved.
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/strata-mllog.pc.in ${PROJECT_BINARY_DIR}/strata-mllog.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/strata-mllog.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# The installed program writes its manual and completions. Debian's zsh has a separate folder for packages.
find_program(STRATA_GZIP gzip)
set(zsh_folder site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_folder vendor-completions)
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  install(CODE "message(STATUS \"No manual and no completions: the program, which writes them, is for another machine. \"
    \"CMAKE_CROSSCOMPILING_EMULATOR would run it\")" COMPONENT ${STRATA_PROGRAM_COMPONENT})
else()
  install(CODE "
    set(SHARE \"${PROJECT_BINARY_DIR}/share\")
    set(DATAROOTDIR \"${CMAKE_INSTALL_DATAROOTDIR}\")
    execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSTRATA=$<TARGET_FILE:strata>\" \"-DOUTPUT=\${SHARE}\"
      \"-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}\" -DZSH=${zsh_folder} -DGZIP=$<$<BOOL:${STRATA_GZIP}>:${STRATA_GZIP}>
      -P \"${PROJECT_SOURCE_DIR}/cmake/Manual.cmake\" COMMAND_ERROR_IS_FATAL ANY)
    include(\"${PROJECT_SOURCE_DIR}/cmake/InstallShare.cmake\")"
    COMPONENT ${STRATA_PROGRAM_COMPONENT})
endif()

# Documents are laid out as in the source, so that their links work.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/strata COMPONENT ${STRATA_PROGRAM_COMPONENT})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/strata COMPONENT ${STRATA_PROGRAM_COMPONENT})

# Configurations and scripts for runs or the quickstart's data keep their names, too, because documents mention them.
if(STRATA_TRAINING)
  set(scripts ${CMAKE_INSTALL_DATAROOTDIR}/strata/scripts)
  install(DIRECTORY scripts/configs scripts/parts DESTINATION ${scripts} COMPONENT training)
  install(PROGRAMS scripts/mpirun.sh scripts/mpirun_nodes.sh DESTINATION ${scripts} COMPONENT training)
  install(PROGRAMS scripts/data/prepare_quickstart_data.sh scripts/data/kjv_to_text.sh DESTINATION ${scripts}/data COMPONENT training)
  install(PROGRAMS scripts/slurm/train.sbatch DESTINATION ${scripts}/slurm COMPONENT training)
  # The scripts above read these.
  foreach(script common.sh surroundings.sh)
    if(EXISTS ${PROJECT_SOURCE_DIR}/scripts/${script})
      install(FILES scripts/${script} DESTINATION ${scripts} COMPONENT training)
    endif()
  endforeach()
endif()

configure_file(cmake/Uninstall.cmake.in ${PROJECT_BINARY_DIR}/Uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/Uninstall.cmake
                  COMMENT "Removing what was installed" VERBATIM)

include(packaging/debian/Packages.cmake)
