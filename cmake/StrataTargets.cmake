# Makes a library and a test executable of every folder, so that the folders' own files only list sources.

# ccache compiles nothing if it cannot write its cache, for example without a home directory.
find_program(STRATA_CCACHE ccache)
if(STRATA_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/strata_ccache/trial.cc "int main() {}\n")
  execute_process(COMMAND ${STRATA_CCACHE} ${CMAKE_CXX_COMPILER} -c trial.cc -o trial.o
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/CMakeFiles/strata_ccache
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said ERROR_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    # With relative paths the builds of a source tree share objects that are compiled alike.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${STRATA_CCACHE})
  else()
    message(STATUS "ccache is left out, because it does not work: ${said}")
  endif()
endif()

# Installed programs find the libraries of a prefix in their present place. A distribution's packages name no folders.
if(NOT DEFINED CMAKE_INSTALL_RPATH_USE_LINK_PATH AND NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
# An installation makes its folders by this before any folder of the sources installs into them.
function(strata_open_folders component)
  install(CODE "set(FOLDERS \"${ARGN}\")\ninclude(\"${PROJECT_SOURCE_DIR}/cmake/OpenFolders.cmake\")" COMPONENT ${component})
endfunction()
strata_open_folders(${STRATA_PROGRAM_COMPONENT} ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_DATAROOTDIR}/doc/strata)
strata_open_folders(dev ${CMAKE_INSTALL_LIBDIR}/cmake/strata ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_INCLUDEDIR}/strata/mllog)
if(STRATA_TRAINING)
  strata_open_folders(training ${CMAKE_INSTALL_DATAROOTDIR}/strata/scripts/slurm ${CMAKE_INSTALL_DATAROOTDIR}/strata/scripts/data)
endif()

# The target that provides {fmt}.
set(STRATA_FMT fmt::fmt)

add_library(strata_flags INTERFACE)
target_include_directories(strata_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(strata_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wno-missing-field-initializers>)
if(STRATA_SANITIZE)
  # GCC mistakes the standard library's checked code for reads of uninitialized memory.
  target_compile_options(strata_flags INTERFACE -fsanitize=${STRATA_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(strata_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(strata_flags INTERFACE -fsanitize=${STRATA_SANITIZE})
endif()

# Compiles several sources of a target as one, so that their common headers are read once. Files that change often
# compile faster alone: configure with -DSTRATA_UNITE=OFF.
option(STRATA_UNITE "Compile several sources as one" ON)
function(strata_unite target at_once)
  if(STRATA_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${at_once})
  endif()
endfunction()

# For code that need not be fast: commands, tests, and libraries that spend their time in others.
# Compiled so, compliance would check logs 5 to 14 % more slowly. Precompiled headers would save less than a tenth of a
# unity source's time.
function(strata_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(STRATA_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# strata_library(<folder> SOURCES <files> [DEPENDS <targets>])
# Makes the static library strata_<folder>; headers are included as "<folder>/<name>.h".
function(strata_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(strata_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(strata_${folder} PUBLIC $<BUILD_INTERFACE:strata_flags> ${ARG_DEPENDS})
  strata_unite(strata_${folder} 24)
endfunction()

# strata_install_library(<folder> [HEADERS <files>])
# Installs the library strata_<folder>, for other projects strata::<folder>, and its public headers as
# <strata/<folder>/<name>.h>. Rewrites their includes of each other, so that no name collides with another project's.
function(strata_install_library folder)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  # Each source is an object of its own, so that a program of another project links only the objects that it uses.
  set_target_properties(strata_${folder} PROPERTIES EXPORT_NAME ${folder} UNITY_BUILD OFF)
  target_compile_features(strata_${folder} PUBLIC cxx_std_20)
  install(TARGETS strata_${folder} EXPORT strata-targets ARCHIVE COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(header IN LISTS ARG_HEADERS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REPLACE "#include \"${folder}/" "#include \"strata/${folder}/" text "${text}")
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/strata/${folder}/${header} CONTENT "${text}" @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/include/strata/${folder}/${header} COMPONENT dev
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata/${folder})
  endforeach()
endfunction()

# strata_test(<folder> SOURCES <files> [DEPENDS <targets>])
# Makes the test executable test_<folder>, run once per GoogleTest case under the name <folder>/<Suite>.<Case>.
function(strata_test folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${folder} ${ARG_SOURCES})
  strata_unite(test_${folder} 10)
  strata_compile_quickly(test_${folder})
  target_link_libraries(test_${folder} PRIVATE strata_flags strata_built_files ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${folder} PRIVATE STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # A test program of another machine cannot tell its tests while it is built.
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)
  endif()
  # OpenMP's threads wait for work without taking the processor from other tests.
  gtest_discover_tests(test_${folder} TEST_PREFIX "${folder}/" DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()

# strata_mpi_test(<folder> RANKS <counts> SOURCES <files> [DEPENDS <targets>])
# Makes the test executable test_<folder>_mpi (its sources bring their own main, which starts MPI) and runs the
# whole of it under mpirun once per rank count, under the name <folder>/mpi_ranks_<count>.
function(strata_mpi_test folder)
  cmake_parse_arguments(ARG "" "" "RANKS;SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${folder}_mpi ${ARG_SOURCES})
  strata_compile_quickly(test_${folder}_mpi)
  target_link_libraries(test_${folder}_mpi PRIVATE strata_flags ${ARG_DEPENDS} GTest::gmock GTest::gtest)
  target_compile_definitions(test_${folder}_mpi PRIVATE STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(STRATA_SANITIZE MATCHES "thread")
    # Open MPI synchronises its threads with its own atomics, which the sanitizer does not see.
    set(ARG_RANKS 1)
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    set(name ${folder}/mpi_ranks_${ranks})
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/scripts/mpirun.sh -n ${ranks}
                                  $<TARGET_FILE:test_${folder}_mpi>)
    # Open MPI keeps some memory until the process ends.
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 PROCESSORS ${ranks}
                         ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;OMP_WAIT_POLICY=passive;STRATA_MPIRUN=${MPIEXEC_EXECUTABLE}")
  endforeach()
endfunction()

# strata_fuzz(<target> SOURCES <files> [DEPENDS <targets>])
# Makes the libFuzzer executable fuzz_<target> if STRATA_FUZZ is on. Needs Clang: see docs/compliance.md. Configure with
#   -DCMAKE_CXX_COMPILER=clang++ -DSTRATA_FUZZ=ON -DSTRATA_SANITIZE=address,undefined,fuzzer-no-link
option(STRATA_FUZZ "Build the fuzz targets of all readers" OFF)
function(strata_fuzz target)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(STRATA_FUZZ)
    add_executable(fuzz_${target} ${ARG_SOURCES})
    target_link_libraries(fuzz_${target} PRIVATE strata_flags ${ARG_DEPENDS})
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
    target_compile_definitions(fuzz_${target} PRIVATE STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
endfunction()
