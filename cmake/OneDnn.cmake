# Sets STRATA_DNNL, the oneDNN library, and STRATA_DNNL_INCLUDE, its headers. They come from the folder STRATA_ONEDNN (with include/ and
# lib/), else from the first below CMAKE_PREFIX_PATH, else from the system. oneDNN's own CMake package is not used: Debian's needs
# OpenCL, which nothing here uses, and PyPI's wheels have none since 2026.
set(STRATA_ONEDNN "" CACHE PATH "Folder of a oneDNN in place of the system's; it holds include/ and lib/")

# Forgets the results for another value.
if(NOT "${STRATA_ONEDNN}" STREQUAL "${STRATA_ONEDNN_SEARCHED}")
  unset(STRATA_DNNL CACHE)
  unset(STRATA_DNNL_INCLUDE CACHE)
endif()
set(STRATA_ONEDNN_SEARCHED "${STRATA_ONEDNN}" CACHE INTERNAL "")
set(where)
if(STRATA_ONEDNN)
  set(where PATHS ${STRATA_ONEDNN} NO_DEFAULT_PATH)
endif()
find_path(STRATA_DNNL_INCLUDE oneapi/dnnl/dnnl.hpp ${where} PATH_SUFFIXES include)
find_library(STRATA_DNNL dnnl ${where} PATH_SUFFIXES lib lib64)
if(NOT STRATA_DNNL OR NOT STRATA_DNNL_INCLUDE)
  if(STRATA_ONEDNN)
    message(FATAL_ERROR "STRATA_ONEDNN=${STRATA_ONEDNN}: expected include/oneapi/dnnl/dnnl.hpp and lib/libdnnl.so there")
  endif()
  message(FATAL_ERROR "No oneDNN: install libdnnl-dev, name its folder by -DSTRATA_ONEDNN=DIR, or build the tools alone with -DSTRATA_TRAINING=OFF")
endif()

# Ranks and threads share processors by OpenMP's thread count. A library with its own threads would use all processors for each rank.
file(STRINGS ${STRATA_DNNL_INCLUDE}/oneapi/dnnl/dnnl_config.h runtime REGEX "define DNNL_CPU_THREADING_RUNTIME ")
if(NOT runtime MATCHES "DNNL_RUNTIME_OMP")
  string(REGEX REPLACE ".* " "" runtime "${runtime}")
  message(FATAL_ERROR "${STRATA_DNNL} computes on threads of ${runtime}; Strata needs a oneDNN built with ONEDNN_CPU_RUNTIME=OMP")
endif()
file(STRINGS ${STRATA_DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h version REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]+" "" version "${version}")
string(REPLACE ";" "." version "${version}")
message(STATUS "oneDNN ${version}: ${STRATA_DNNL}")

# An installed program finds a library outside the system's folders in its present place.
get_filename_component(folder ${STRATA_DNNL} DIRECTORY)
if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  list(APPEND CMAKE_INSTALL_RPATH ${folder})
endif()
