// Checks seeds: every run logs at least one, and no two runs log the same seed at the same place in
// the source.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compliance/package/section.h"
#include "mllog/log_reader.h"

namespace strata::compliance {

struct SeedRecord {
  std::string file;  // file in the metadata, as text
  std::string line;
  std::string seed;  // decimal
};

// The seeds of one log, or why they cannot be read.
struct LogSeeds {
  std::filesystem::path path;
  std::vector<SeedRecord> records;
  std::string problem;
};
LogSeeds read_seeds(const mllog::LogReader& log);

Section check_seeds(const std::vector<LogSeeds>& logs);

}  // namespace strata::compliance
