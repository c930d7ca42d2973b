# Finds the libraries that describe themselves to pkg-config. A library in a prefix may come without its .pc file, or with one that
# needs packages which are not installed. Then its header and its file are looked for.
find_package(PkgConfig QUIET)

# strata_system_library(<name> MODULE <pkg-config's name> HEADER <header> LIBRARY <name without lib> PACKAGE <Debian's name> [OPTIONAL])
# Makes the target system::<name>. If the library is missing, stops, or with OPTIONAL makes none.
function(strata_system_library name)
  cmake_parse_arguments(ARG OPTIONAL "MODULE;HEADER;LIBRARY;PACKAGE" "" ${ARGN})
  if(PkgConfig_FOUND)
    pkg_check_modules(STRATA_PC_${name} QUIET IMPORTED_TARGET ${ARG_MODULE})
  endif()
  if(STRATA_PC_${name}_FOUND)
    add_library(system::${name} ALIAS PkgConfig::STRATA_PC_${name})
    message(STATUS "${name} ${STRATA_PC_${name}_VERSION}: ${STRATA_PC_${name}_LINK_LIBRARIES}")
    return()
  endif()
  find_path(STRATA_${name}_INCLUDE ${ARG_HEADER})
  find_library(STRATA_${name}_LIBRARY ${ARG_LIBRARY})
  if(STRATA_${name}_INCLUDE AND STRATA_${name}_LIBRARY)
    add_library(system::${name} UNKNOWN IMPORTED)
    set_target_properties(system::${name} PROPERTIES IMPORTED_LOCATION ${STRATA_${name}_LIBRARY}
                                                     INTERFACE_INCLUDE_DIRECTORIES ${STRATA_${name}_INCLUDE})
    message(STATUS "${name}: ${STRATA_${name}_LIBRARY}")
  elseif(NOT ARG_OPTIONAL)
    message(FATAL_ERROR "${name} is missing: there is neither ${ARG_MODULE}.pc nor <${ARG_HEADER}> with lib${ARG_LIBRARY}. Install it "
                        "(Debian: ${ARG_PACKAGE}), or name its prefix by -DCMAKE_PREFIX_PATH=DIR")
  endif()
endfunction()

# Sets PROTOZERO_INCLUDE_DIR; protozero has only headers.
function(strata_find_protozero)
  find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_message.hpp)
  if(NOT PROTOZERO_INCLUDE_DIR)
    message(FATAL_ERROR "protozero is missing: there is no <protozero/pbf_message.hpp>. Install it (Debian: libprotozero-dev), "
                        "or name its prefix by -DCMAKE_PREFIX_PATH=DIR")
  endif()
endfunction()

# Makes the target Boost::headers. CMake 3.30 and later leave it to Boost to describe itself; a bare folder of headers does not.
find_package(Boost CONFIG QUIET HINTS ${BOOST_ROOT} $ENV{BOOST_ROOT})
if(TARGET Boost::headers)
  message(STATUS "Boost ${Boost_VERSION}: ${Boost_DIR}")
else()
  find_path(STRATA_Boost_INCLUDE boost/math/distributions/students_t.hpp HINTS ${BOOST_ROOT} $ENV{BOOST_ROOT} PATH_SUFFIXES include)
  if(NOT STRATA_Boost_INCLUDE)
    message(FATAL_ERROR "Boost is missing: there is no <boost/math/distributions/students_t.hpp>. Install it (Debian: libboost-dev), "
                        "or name its prefix by -DBOOST_ROOT=DIR")
  endif()
  add_library(Boost::headers INTERFACE IMPORTED)
  set_target_properties(Boost::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${STRATA_Boost_INCLUDE})
  message(STATUS "Boost: ${STRATA_Boost_INCLUDE}")
endif()
