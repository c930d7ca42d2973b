# The .deb packages: `cpack -G DEB` in a build folder; scripts/packages.sh deb makes all of them.
set(STRATA_MAINTAINER "Strata maintainers <maintainers@strata.invalid>" CACHE STRING "Name and address in packages' Maintainer field")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME strata)
set(CPACK_PACKAGE_VENDOR Strata)
set(CPACK_PACKAGE_CONTACT "${STRATA_MAINTAINER}")
# Each package has a synopsis of its own; CPack would put this line before it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# The library is the same in every build; with the tools it is built fastest.
set(CPACK_COMPONENTS_ALL ${STRATA_PROGRAM_COMPONENT})
if(NOT STRATA_TRAINING)
  list(APPEND CPACK_COMPONENTS_ALL dev)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME strata-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS librsvg2-bin)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONFLICTS strata-training)
set(CPACK_DEBIAN_TOOLS_PACKAGE_REPLACES strata-training)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "check, score and compare MLPerf training logs
The program strata without training: it checks MLPerf training logs and
submissions by the rules of every round, scores and compares systems,
draws and reports runs, and plans how long a run would take elsewhere.
The commands train, eval, data, search and bench are in strata-training,
which takes the place of this package.")

set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME strata-training)
set(CPACK_DEBIAN_TRAINING_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TRAINING_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS openmpi-bin)
if(MPI_CXX_LIBRARIES MATCHES mpich)
  set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS mpich)
endif()
set(CPACK_DEBIAN_TRAINING_PACKAGE_SUGGESTS librsvg2-bin)
set(CPACK_DEBIAN_TRAINING_PACKAGE_CONFLICTS strata-tools)
set(CPACK_DEBIAN_TRAINING_PACKAGE_REPLACES strata-tools)
set(CPACK_DEBIAN_TRAINING_PACKAGE_PROVIDES "strata-tools (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TRAINING_DESCRIPTION "time BERT pretraining to a target, in MLPerf's manner
The program strata, whole: it trains BERT on one or several machines to a
masked-LM accuracy, measures steps, operations and communication, prepares
data, and does what strata-tools does. Configurations and launchers (for
mpirun and Slurm) are in /usr/share/strata/scripts.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libstrata-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev (>= 9), libstdc++-12-dev | libstdc++-dev, libc6-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "write and read MLPerf logs in C++ (development files)
The library strata::mllog, static, with its headers and its files for CMake
and pkg-config: logs of whole lines whatever ends the program, and a reader
that takes and refuses what the official checker does.")

# Debian wants the licence of every package, and its changes in Debian's form.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
function(strata_debian_documents component package)
  set(folder ${PROJECT_BINARY_DIR}/debian/${package})
  configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/copyright.in ${folder}/copyright @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/changelog.in ${folder}/changelog @ONLY)
  execute_process(COMMAND ${STRATA_GZIP} -9nf changelog WORKING_DIRECTORY ${folder})
  # /usr is Debian's; who installs elsewhere has no use for them.
  install(CODE "if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
  set(FOLDERS share/doc/${package})
  include(\"${PROJECT_SOURCE_DIR}/cmake/OpenFolders.cmake\")
  file(INSTALL \"${folder}/copyright\" \"${folder}/changelog.gz\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/doc/${package}\")
endif()" COMPONENT ${component})
endfunction()
if(STRATA_GZIP)
  strata_debian_documents(${STRATA_PROGRAM_COMPONENT} strata-${STRATA_PROGRAM_COMPONENT})
  strata_debian_documents(dev libstrata-dev)
endif()

include(CPack)
