#include "cli/manual/version.h"

#include <fmt/format.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <boost/version.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "scoring/summary/workbook.h"
#ifdef STRATA_REPORT_SERVER
#include <microhttpd.h>
#endif
#ifdef STRATA_TRAINING
#include <H5public.h>
#include <oneapi/dnnl/dnnl.h>
#include <utf8proc.h>

#include "comm/mpi/mpi_runtime.h"
#endif

namespace strata::cli {

extern const char kCommit[];  // written by cmake/WriteCommit.cmake

namespace {

std::string boost_version() {
  return fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                     BOOST_VERSION % 100);
}

// Loaded libraries report the version that runs, header libraries the one that was compiled.
std::vector<std::pair<std::string, std::string>> libraries() {
  std::vector<std::pair<std::string, std::string>> found = {
      {"Boost", boost_version()},
      {"CLI11", CLI11_VERSION},
      {"fmt",
       fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
#ifdef STRATA_REPORT_SERVER
      {"libmicrohttpd", MHD_get_version()},
#endif
      {"nlohmann-json", STRATA_NLOHMANN_JSON_VERSION},
      {"yaml-cpp", STRATA_YAML_CPP_VERSION}};
  if (const std::string version = scoring::workbook_library(); !version.empty())
    found.emplace_back("libxlsxwriter", version);
#ifdef STRATA_TRAINING
  unsigned major = 0, minor = 0, patch = 0;
  if (H5get_libversion(&major, &minor, &patch) >= 0)
    found.emplace_back("HDF5", fmt::format("{}.{}.{}", major, minor, patch));
  if (const std::string name = comm::mpi_name(); !name.empty()) found.emplace_back("MPI", name);
  const dnnl_version_t* dnnl = dnnl_version();
  found.emplace_back("oneDNN", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch));
  found.emplace_back("utf8proc", utf8proc_version());
#endif
  return found;
}

}  // namespace

std::string instruction_sets(const std::filesystem::path& cpuinfo) {
  constexpr const char* kSets[] = {"sse4_2",   "avx",      "avx2",     "fma",         "f16c",
                                   "avx512f",  "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
                                   "avx_vnni", "amx_tile", "amx_int8", "amx_bf16",    "avx512_fp16",
                                   "amx_fp16", "asimd",    "asimdhp",  "asimddp",     "bf16",
                                   "i8mm",     "sve",      "sve2"};
  std::ifstream file(cpuinfo);
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(std::min(line.size(), line.find(':') + 1)));
    flags.insert(std::istream_iterator<std::string>(words), {});
    break;
  }
  std::string text;
  for (const char* set : kSets) {
    if (flags.contains(set)) text += fmt::format("{}{}", text.empty() ? "" : " ", set);
  }
  return text;
}

std::string version_text() {
  const std::string sets = instruction_sets();
  std::string text =
      fmt::format("strata {}\ncommit {}, build type {}, {}\ncompiler {} {}\nthis machine {}\n",
                  STRATA_VERSION, kCommit, STRATA_BUILD_TYPE,
#ifdef STRATA_TRAINING
                  "training and tools",
#else
                  "tools only",
#endif
#ifdef __clang__
                  "Clang", __clang_version__,
#else
                  "GCC", __VERSION__,
#endif
                  sets.empty() ? "has unknown instruction sets" : sets);
  text += "libraries";
  const char* separator = " ";
  for (const auto& [name, version] : libraries()) {
    text += fmt::format("{}{} {}", separator, name, version);
    separator = ", ";
  }
  return text;
}

}  // namespace strata::cli
