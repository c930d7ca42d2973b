# Libraries for a statically linked program.
if(STRATA_TRAINING OR STRATA_REPORT_SERVER OR STRATA_XLSX)
  message(FATAL_ERROR "STRATA_STATIC=ON needs STRATA_TRAINING=OFF, STRATA_REPORT_SERVER=OFF and STRATA_XLSX=OFF: MPI, oneDNN, the GnuTLS that "
                      "libmicrohttpd uses, and libxlsxwriter are not to be had as archives. The preset tools-static sets all four.")
endif()

# Debian has no archive of {fmt}; its headers hold all of it.
set(STRATA_FMT fmt::fmt-header-only)

strata_link_yaml_cpp_archive()
