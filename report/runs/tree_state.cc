#include "report/runs/tree_state.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/files/crc32c.h"
#include "compliance/package/submission_tree.h"

namespace strata::report {

namespace fs = std::filesystem;

std::string state_of(const std::vector<fs::path>& paths) {
  std::string seen;
  const auto take = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) return;
    seen += fmt::format("{}\n{} {}\n", entry.path().string(),
                        static_cast<uint64_t>(entry.file_size(ignored)),
                        entry.last_write_time(ignored).time_since_epoch().count());
  };
  for (const fs::path& path : paths) {
    std::error_code ignored;
    compliance::ListingProblems problems;
    if (fs::is_directory(path, ignored)) {
      compliance::walk(path, take, problems);
    } else if (fs::exists(path, ignored)) {
      take(fs::directory_entry(path, ignored));
    }
  }
  return fmt::format("{:08x}{:x}", crc32c(seen), seen.size());
}

}  // namespace strata::report
