#include "compliance/package/steps/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "compliance/checks/rounds.h"
#include "compliance/package/system_description.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// The folders of a submission that may hold results, whether or not they do.
std::vector<ResultFolder> list_folders(const fs::path& directory, const std::string& usage,
                                       ListingProblems& problems) {
  std::vector<ResultFolder> found;
  for (const fs::path& system : subfolders(directory / "results", &problems)) {
    const auto add = [&](const fs::path& path, bool weak, bool strong) {
      ResultFolder folder;
      folder.path = path;
      folder.submitter_path = directory;
      folder.submitter = directory.filename().string();
      folder.system = system.filename().string();
      folder.benchmark = path.filename().string();
      folder.weak_scaling = weak;
      folder.strong_scaling = strong;
      folder.logs = result_logs(path, &problems);
      found.push_back(std::move(folder));
    };
    for (const fs::path& inner : subfolders(system, &problems)) {
      if (usage != "hpc") {
        add(inner, false, false);
        continue;
      }
      for (const fs::path& benchmark : subfolders(inner, &problems))
        add(benchmark, inner.filename() == "weak", inner.filename() == "strong");
    }
  }
  return found;
}

// If the file cannot be read, that is the description's error and is added to `unread`.
Section check_description(const fs::path& file, const PackageOptions& options,
                          ListingProblems& unread) {
  try {
    Section section = check_system_description(file, options.usage, options.ruleset);
    section.path = file;
    return section;
  } catch (const ReadError& error) {
    unread.push_back(error.what());
    return {"System description " + file.filename().string(), {error.what()}, {}, {}, true, file};
  }
}

// Empty if the description cannot be read, which is then in `unread`.
std::string division_of(const fs::path& system, ListingProblems& unread) {
  try {
    return system_division(system);
  } catch (const ReadError& error) {
    if (std::ranges::find(unread, error.what()) == unread.end()) unread.push_back(error.what());
    return {};
  }
}

}  // namespace

PackageVerdict list_package(const fs::path& directory, const PackageOptions& options) {
  std::error_code error;
  if (!fs::is_directory(directory / "results", error) ||
      !fs::is_directory(directory / "systems", error)) {
    fail("{}: is not a submission (a folder with results/ and systems/)", directory.string());
  }
  PackageVerdict package;
  ListingProblems problems;
  package.path = fs::absolute(directory, error).lexically_normal();
  if (!package.path.has_filename()) package.path = package.path.parent_path();
  package.submitter = package.path.filename().string();
  // Before round 1.0 system descriptions were not checked.
  const bool check_systems = compare_versions(options.ruleset, "1.0.0") >= 0;
  for (const fs::path& file :
       check_systems ? files(directory / "systems", &problems) : std::vector<fs::path>()) {
    // The official tool's glob passes over hidden files.
    if (file.extension() == ".json" && !file.filename().string().starts_with('.'))
      package.systems.push_back(check_description(file, options, package.unread));
  }
  const auto& benchmarks = round_benchmarks(options.usage, options.ruleset);
  for (ResultFolder& folder : list_folders(package.path, options.usage, problems)) {
    FolderVerdict verdict;
    verdict.skipped =
        std::find(benchmarks.begin(), benchmarks.end(), folder.benchmark) == benchmarks.end();
    const fs::path system = package.path / "systems" / (folder.system + ".json");
    verdict.division = division_of(system, package.unread);
    if (!fs::is_regular_file(system, error)) {
      verdict.sections.push_back(
          {"System",
           {fmt::format("systems/{}.json is {}", folder.system,
                        what_is_at(system) + (is_missing(system) ? "" : ", not a description"))},
           {},
           {}});
    }
    if (verdict.skipped) {
      const std::string reason = fmt::format("'{}' is not a benchmark of {} {}: skipped",
                                             folder.benchmark, options.usage, options.ruleset);
      verdict.sections.push_back({"Benchmark", {}, {}, {reason}, false});
    }
    verdict.folder = std::move(folder);
    package.folders.push_back(std::move(verdict));
  }
  if (!problems.empty()) package.systems.push_back({"Folders", problems, {}, {}});
  package.unread.insert(package.unread.end(), problems.begin(), problems.end());
  return package;
}

}  // namespace strata::compliance
