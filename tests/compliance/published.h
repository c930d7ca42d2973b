// Finds the published rounds and the official checker's package. Tests that compare with them skip
// if they are absent.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/built_files.h"

namespace strata::testing {

// Returns the folder with the archives and the tables of expected verdicts: ../shared beside the
// source tree, or below $STRATA_SHARED.
inline std::filesystem::path published_data() {
  const char* shared = std::getenv("STRATA_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? shared : std::string(STRATA_SOURCE_DIR) + "/../shared";
  return root / "data/published_logs";
}

// Returns the round's tree, unpacked once into the build directory, or an empty path without the
// archive. Ends the test if it cannot be unpacked.
inline std::filesystem::path published_round(const std::string& round) {
  const std::filesystem::path archive = published_data() / (round + ".tar.xz");
  if (!std::filesystem::exists(archive)) return {};
  const std::filesystem::path folder = testing_support::build_folder() / "published_logs";
  std::filesystem::create_directories(folder);
  const int lock = ::open((folder / (round + ".lock")).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  ::flock(lock, LOCK_EX);
  const std::filesystem::path done = folder / (round + ".done");
  bool ready = std::filesystem::exists(done);
  if (!ready) {
    const std::string command = "tar -C '" + folder.string() + "' -xJf '" + archive.string() + "'";
    ready = std::system(command.c_str()) == 0;
    if (ready) std::ofstream(done) << "unpacked\n";
  }
  ::close(lock);
  if (!ready) throw std::runtime_error(archive.string() + ": cannot be unpacked");
  return folder / round;
}

// Returns the installed mlperf_logging package: $STRATA_MLPERF_LOGGING, or that of the virtual
// environment .venv in the source tree.
inline std::filesystem::path official_package() {
  const char* given = std::getenv("STRATA_MLPERF_LOGGING");
  if (given != nullptr) return given;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STRATA_SOURCE_DIR) + "/.venv/lib", error)) {
    const auto package = entry.path() / "site-packages/mlperf_logging";
    if (std::filesystem::is_directory(package, error)) return package;
  }
  return {};
}

// Returns the rows of a table, without its header.
inline std::vector<std::vector<std::string>> read_table(const std::filesystem::path& path,
                                                        bool header = true) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  std::string line;
  if (header) std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> row(1);
    for (const char c : line) {
      if (c == '\t') {
        row.emplace_back();
      } else {
        row.back() += c;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace strata::testing
