#include "compliance/package/submission_tree.h"

#include <algorithm>

#include "base/error.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

bool is_result_log(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("result_") && name.ends_with(".txt");
}

// result_2 before result_10.
bool log_less(const fs::path& a, const fs::path& b) {
  const std::string x = a.filename().string();
  const std::string y = b.filename().string();
  return std::pair(x.size(), x) < std::pair(y.size(), y);
}

template <typename Keep>
std::vector<fs::path> list(const fs::path& folder, Keep keep) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (keep(*it, ignored)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

ResultFolder describe(const fs::path& path, std::vector<fs::path> logs) {
  ResultFolder folder;
  folder.path = path;
  folder.logs = std::move(logs);
  std::error_code error;
  fs::path at = fs::absolute(path, error).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  folder.benchmark = at.filename().string();
  at = at.parent_path();
  if (at.filename() == "strong" || at.filename() == "weak") {
    folder.weak_scaling = at.filename() == "weak";
    at = at.parent_path();
  }
  folder.system = at.filename().string();
  at = at.parent_path();
  if (at.filename() == "results") {
    folder.submitter_path = at.parent_path();
    folder.submitter = folder.submitter_path.filename().string();
  }
  return folder;
}

}  // namespace

std::vector<fs::path> subfolders(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry, std::error_code& error) {
    return entry.is_directory(error);
  });
}

std::vector<fs::path> files(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry, std::error_code& error) {
    return !entry.is_directory(error);
  });
}

std::vector<fs::path> result_logs(const fs::path& folder) {
  auto found = list(folder, [](const fs::directory_entry& entry, std::error_code& error) {
    return is_result_log(entry.path()) && entry.is_regular_file(error);
  });
  std::sort(found.begin(), found.end(), log_less);
  return found;
}

std::vector<ResultFolder> find_result_folders(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) fail("{}: is not a directory", directory.string());
  std::vector<ResultFolder> found;
  if (auto logs = result_logs(directory); !logs.empty())
    found.push_back(describe(directory, std::move(logs)));
  fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored) || it->is_symlink(ignored)) continue;
    if (auto logs = result_logs(it->path()); !logs.empty())
      found.push_back(describe(it->path(), std::move(logs)));
  }
  std::sort(found.begin(), found.end(),
            [](const ResultFolder& a, const ResultFolder& b) { return a.path < b.path; });
  return found;
}

std::vector<fs::path> find_submitters(const fs::path& round) {
  std::vector<fs::path> found;
  for (const fs::path& folder : subfolders(round)) {
    std::error_code error;
    if (fs::is_directory(folder / "results", error) && fs::is_directory(folder / "systems", error))
      found.push_back(folder);
  }
  return found;
}

}  // namespace strata::compliance
