#include "scoring/export/named_logs.h"

#include "base/error.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;

void add(const fs::path& log, const fs::path& name, std::map<fs::path, fs::path>& logs) {
  const auto [known, is_new] = logs.emplace(name, log);
  if (!is_new && known->second != log) {
    fail("{} and {} would both be exported as {}; export one of them to another folder",
         known->second.string(), log.string(), name.string());
  }
}

}  // namespace

std::map<fs::path, fs::path> named_logs(std::span<const fs::path> paths,
                                        compliance::ListingProblems& problems) {
  std::map<fs::path, fs::path> logs;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(path, path.stem(), logs);
      continue;
    }
    fs::path named = fs::absolute(path, error).lexically_normal();
    if (!named.has_filename()) named = named.parent_path();
    const auto folders = compliance::find_result_folders(named, &problems);
    if (folders.empty()) problems.push_back(path.string() + ": no result_*.txt under it");
    for (const compliance::ResultFolder& folder : folders) {
      for (const fs::path& log : folder.logs) {
        const fs::path inner = log.lexically_relative(named);
        add(log, named.filename() / inner.parent_path() / inner.stem(), logs);
      }
    }
  }
  return logs;
}

}  // namespace strata::scoring
