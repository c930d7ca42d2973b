#include "compliance/package/submission_tree.h"

#include <algorithm>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Sorts result_2 before result_10.
bool log_less(const fs::path& a, const fs::path& b) {
  const std::string x = a.filename().string();
  const std::string y = b.filename().string();
  return std::pair(x.size(), x) < std::pair(y.size(), y);
}

// Returns the entries of a folder, sorted by path. `subfolders` describes `problems`.
std::vector<fs::directory_entry> list(const fs::path& folder, ListingProblems* problems) {
  std::vector<fs::directory_entry> found;
  const auto report = [&](const fs::path& path, const std::error_code& error) {
    if (!error || error == std::errc::no_such_file_or_directory) return false;
    const std::string problem =
        fmt::format("{}: cannot be listed: {}", path.string(), error.message());
    if (problems == nullptr) throw ReadError(problem);
    problems->push_back(problem);
    return true;
  };
  std::error_code error;
  for (const fs::path& path : list_directory(folder, error)) {
    std::error_code unseen;  // unknown type
    fs::directory_entry entry(path, unseen);
    if (!report(path, unseen)) found.push_back(std::move(entry));
  }
  report(folder, error);
  return found;
}

// Returns the paths of the entries that `keep` accepts.
template <typename Keep>
std::vector<fs::path> paths(const std::vector<fs::directory_entry>& entries, Keep keep) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : entries) {
    std::error_code ignored;
    if (keep(entry, ignored)) found.push_back(entry.path());
  }
  return found;
}

std::vector<fs::path> logs_among(const std::vector<fs::directory_entry>& entries) {
  auto found = paths(entries, [](const fs::directory_entry& entry, std::error_code& error) {
    return is_result_log(entry.path()) && entry.is_regular_file(error);
  });
  std::sort(found.begin(), found.end(), log_less);
  return found;
}

// Calls `visit` with a folder's entries, then with those of the folders in it, without following
// links. Uses a list instead of recursion, so that depth is no risk.
template <typename Visit>
void walk_folders(const fs::path& directory, ListingProblems* problems, Visit visit) {
  std::vector<fs::path> pending = {directory};
  while (!pending.empty()) {
    const fs::path folder = std::move(pending.back());
    pending.pop_back();
    const auto entries = list(folder, problems);
    visit(folder, entries);
    std::error_code ignored;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (entry->is_directory(ignored) && !entry->is_symlink(ignored))
        pending.push_back(entry->path());
    }
  }
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
    folder.strong_scaling = !folder.weak_scaling;
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

// Returns the usage of the first benchmark that a folder or a log names, else the one in the path,
// else training.
std::string usage_of_tree(const fs::path& directory, const std::vector<ResultFolder>& folders) {
  for (const ResultFolder& folder : folders) {
    if (std::string usage = usage_of_benchmark(folder.benchmark); !usage.empty()) return usage;
  }
  for (const ResultFolder& folder : folders) {
    try {
      const mllog::LogReader log(folder.logs.front(), mllog::LogFormat::kMllog);
      if (std::string usage = usage_of_benchmark(logged_benchmark(log)); !usage.empty())
        return usage;
    } catch (const Error&) {
      // Another log may name the benchmark.
    }
  }
  const std::string of_path = infer_ruleset_from_path(directory, "").usage;
  return of_path.empty() ? "training" : of_path;
}

}  // namespace

bool is_result_log(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("result_") && name.ends_with(".txt");
}

std::vector<fs::path> subfolders(const fs::path& folder, ListingProblems* problems) {
  return paths(list(folder, problems),
               [](const fs::directory_entry& entry, std::error_code& error) {
                 return entry.is_directory(error);
               });
}

std::vector<fs::path> files(const fs::path& folder, ListingProblems* problems) {
  return paths(list(folder, problems),
               [](const fs::directory_entry& entry, std::error_code& error) {
                 return !entry.is_directory(error);
               });
}

std::vector<fs::path> result_logs(const fs::path& folder, ListingProblems* problems) {
  return logs_among(list(folder, problems));
}

void walk(const fs::path& directory, const std::function<void(const fs::directory_entry&)>& visit,
          ListingProblems& problems) {
  walk_folders(directory, &problems, [&](const fs::path&, const auto& entries) {
    for (const fs::directory_entry& entry : entries) visit(entry);
  });
}

std::vector<ResultFolder> find_result_folders(const fs::path& directory,
                                              ListingProblems* problems) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    fail("{}: is {}, a folder was expected", directory.string(), what_is_at(directory));
  }
  std::vector<ResultFolder> found;
  walk_folders(directory, problems, [&](const fs::path& folder, const auto& entries) {
    if (folder.filename() == kPrunedResults && folder != directory) return;
    if (auto logs = logs_among(entries); !logs.empty())
      found.push_back(describe(folder, std::move(logs)));
  });
  std::sort(found.begin(), found.end(),
            [](const ResultFolder& a, const ResultFolder& b) { return a.path < b.path; });
  return found;
}

RulesetChoice infer_ruleset_of_tree(const fs::path& directory, const std::string& usage,
                                    const std::string& ruleset) {
  std::vector<ResultFolder> folders;
  ListingProblems unlisted;
  std::error_code ignored;
  const bool is_listed = usage.empty() && fs::is_directory(directory, ignored);
  if (is_listed) folders = find_result_folders(directory, &unlisted);
  const std::string chosen = usage.empty() ? usage_of_tree(directory, folders) : usage;
  if (!ruleset.empty()) return {chosen, ruleset, "given"};
  if (RulesetChoice choice = infer_ruleset_from_path(directory, chosen); !choice.ruleset.empty())
    return choice;
  std::string problem = "no result_*.txt under it";
  size_t tried = 0;
  if (!is_listed) folders = find_result_folders(directory, &unlisted);
  for (const ResultFolder& folder : folders) {
    for (const fs::path& log : folder.logs) {
      try {
        return infer_ruleset(mllog::LogReader(log, mllog::LogFormat::kMllog), chosen, "");
      } catch (const Error& error) {
        if (tried++ == 0) problem = error.what();
      }
    }
  }
  if (tried == 0 && !unlisted.empty()) problem = unlisted.front();
  fail("{}: cannot infer the ruleset; give --ruleset ({})", directory.string(), problem);
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

std::vector<std::string> expand_submitters(const std::string& path) {
  std::error_code error;
  std::string pattern = path;
  while (pattern.ends_with('/')) pattern.pop_back();
  const size_t open = pattern.rfind('{');
  if (open == pattern.npos || !pattern.ends_with('}') || fs::exists(path, error)) return {path};
  const std::string prefix = pattern.substr(0, open);
  const std::string names = pattern.substr(open + 1, pattern.size() - open - 2);
  std::vector<std::string> found;
  if (names == "*") {
    const fs::path round = prefix.empty() ? fs::path(".") : fs::path(prefix);
    if (prefix.empty() || prefix.ends_with('/'))
      for (const fs::path& submitter : find_submitters(round)) found.push_back(submitter.string());
    if (found.empty()) fail("{}: matches no submitter (a folder with results/ and systems/)", path);
    return found;
  }
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    if (end > begin) found.push_back(prefix + names.substr(begin, end - begin));
    begin = end + 1;
  }
  if (found.empty()) fail("{}: names no submitter between its braces", path);
  return found;
}

}  // namespace strata::compliance
