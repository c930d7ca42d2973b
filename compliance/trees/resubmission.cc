#include "compliance/trees/resubmission.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/lower_case.h"
#include "compliance/package/submission_tree.h"
#include "compliance/trees/same_bytes.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> submitters_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    fail("{}: is {}, a folder was expected", folder.string(), what_is_at(folder));
  const fs::path real = fs::canonical(folder, error);
  if (fs::is_directory(real / "results", error) && fs::is_directory(real / "systems", error))
    return {real};
  std::vector<fs::path> found;
  for (const fs::path& submitter : find_submitters(real)) {
    const fs::path its = fs::canonical(submitter, error);
    if (!error) found.push_back(its);
  }
  if (found.empty()) {
    fail("{}: is not a submission (a folder with results/ and systems/) and holds none",
         folder.string());
  }
  return found;
}

// Returns the submitter's folder of the round before, or an empty path.
fs::path find_before(const fs::path& submitter, const std::vector<fs::path>& round) {
  const std::string name = submitter.filename().string();
  for (const fs::path& one : round) {
    if (one.filename().string() == name) return one;
  }
  for (const fs::path& one : round) {
    if (lower_case(one.filename().string()) == lower_case(name)) return one;
  }
  return {};
}

std::vector<fs::path> descriptions(const fs::path& submitter, ListingProblems& problems) {
  std::vector<fs::path> found = files(submitter / "systems", &problems);
  std::erase_if(found, [](const fs::path& path) {
    return path.extension() != ".json" || path.filename().string().starts_with('.');
  });
  return found;
}

nlohmann::json read_description(const fs::path& path) {
  constexpr uint64_t kMostBytes = 1 << 20;
  nlohmann::json fields = nlohmann::json::parse(read_file(path, kMostBytes), nullptr, false);
  if (!fields.is_object()) fail("{}: is not a JSON object", path.string());
  return fields;
}

std::vector<DescriptionChange> compare_fields(const nlohmann::json& before,
                                              const nlohmann::json& after) {
  std::set<std::string> names;
  for (const nlohmann::json* side : {&before, &after}) {
    for (const auto& field : side->items()) names.insert(field.key());
  }
  std::vector<DescriptionChange> changes;
  for (const std::string& name : names) {
    const auto value = [&](const nlohmann::json& side) {
      const auto found = side.find(name);
      return found == side.end() ? std::nullopt : std::optional<nlohmann::json>(*found);
    };
    DescriptionChange change{name, value(before), value(after)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

// Returns a description of the round before with the same "system_name".
fs::path of_the_same_name(const nlohmann::json& fields, const fs::path& before,
                          ListingProblems& problems) {
  const auto name = fields.find("system_name");
  if (name == fields.end()) return {};
  for (const fs::path& path : descriptions(before, problems)) {
    try {
      const nlohmann::json other = read_description(path);
      const auto its = other.find("system_name");
      if (its != other.end() && *its == *name) return path;
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  }
  return {};
}

void compare_systems(const fs::path& submitter, const fs::path& before, Resubmission& result) {
  for (const fs::path& path : descriptions(submitter, result.problems)) {
    SystemComparison system;
    system.submitter = submitter.filename().string();
    system.system = path.stem().string();
    system.path = path;
    try {
      const nlohmann::json fields = read_description(path);
      if (!before.empty()) {
        const fs::path same_file = before / "systems" / path.filename();
        if (!is_missing(same_file)) {
          system.before = same_file;
        } else {
          system.before = of_the_same_name(fields, before, result.problems);
          if (!system.before.empty()) system.ground = "has the same \"system_name\"";
        }
      }
      if (!system.before.empty()) {
        system.fields = compare_fields(read_description(system.before), fields);
        system.sameness = system.fields.empty() ? Sameness::kSame : Sameness::kDiffers;
      }
      result.systems.push_back(std::move(system));
    } catch (const Error& error) {
      result.problems.push_back(error.what());
    }
  }
}

// Returns files and links below a folder, by their paths below it.
std::map<std::string, fs::file_type> files_below(const fs::path& folder,
                                                 ListingProblems& problems) {
  std::map<std::string, fs::file_type> found;
  walk(
      folder,
      [&](const fs::directory_entry& entry) {
        std::error_code error;
        const auto type = entry.symlink_status(error).type();
        if (type == fs::file_type::directory) return;
        if (type != fs::file_type::regular && type != fs::file_type::symlink) {
          problems.push_back(fmt::format("{}: is {}, which is not compared",
                                         one_line(entry.path().string()),
                                         what_is_at(entry.path())));
          return;
        }
        found[entry.path().lexically_relative(folder).string()] = type;
      },
      problems);
  return found;
}

bool same_file(const fs::path& a, const fs::path& b, fs::file_type type) {
  if (type == fs::file_type::regular) return same_bytes(a, b);
  std::error_code error;
  return fs::read_symlink(a, error) == fs::read_symlink(b, error) && !error;
}

void compare_files(const fs::path& after, const fs::path& before, CodeComparison& code,
                   ListingProblems& problems) {
  const auto now = files_below(after, problems), then = files_below(before, problems);
  code.files = now.size();
  for (const auto& [name, type] : now) {
    const auto old = then.find(name);
    if (old == then.end()) {
      code.added.push_back(name);
      continue;
    }
    try {
      if (old->second != type || !same_file(after / name, before / name, type))
        code.changed.push_back(name);
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  }
  for (const auto& [name, type] : then) {
    if (!now.contains(name)) code.removed.push_back(name);
  }
  const bool same = code.changed.empty() && code.added.empty() && code.removed.empty();
  code.sameness = same ? Sameness::kSame : Sameness::kDiffers;
}

// Returns whether no link leads to the folder. Requires that the submitter's path is real.
bool is_real(const fs::path& folder, ListingProblems& problems) {
  std::error_code error;
  if (fs::canonical(folder, error) == folder && !error) return true;
  problems.push_back(fmt::format("{}: is reached through a link, and links are not followed",
                                 one_line(folder.string())));
  return false;
}

void compare_code(const fs::path& submitter, const fs::path& before, Resubmission& result) {
  for (const fs::path& benchmark : subfolders(submitter / "benchmarks", &result.problems)) {
    for (const fs::path& folder : subfolders(benchmark / "implementations", &result.problems)) {
      CodeComparison code;
      code.submitter = submitter.filename().string();
      code.implementation = folder.lexically_relative(submitter).string();
      std::error_code error;
      const fs::path old = before / code.implementation;
      if (!is_real(folder, result.problems)) continue;
      if (!before.empty() && fs::is_directory(old, error)) {
        if (!is_real(old, result.problems)) continue;
        compare_files(folder, old, code, result.problems);
      } else {
        code.files = files_below(folder, result.problems).size();
      }
      result.code.push_back(std::move(code));
    }
  }
}

}  // namespace

bool Resubmission::differs() const {
  const auto is_other = [](const auto& one) { return one.sameness == Sameness::kDiffers; };
  return std::ranges::any_of(systems, is_other) || std::ranges::any_of(code, is_other);
}

Resubmission compare_with_round(const fs::path& submission, const fs::path& round) {
  const auto now = submitters_in(submission), then = submitters_in(round);
  std::error_code error;
  const bool is_one = then.size() == 1 && then.front() == fs::canonical(round, error);
  Resubmission result;
  for (const fs::path& submitter : now) {
    // Two single submissions are compared whatever their names.
    const fs::path before = now.size() == 1 && is_one ? then.front() : find_before(submitter, then);
    compare_systems(submitter, before, result);
    compare_code(submitter, before, result);
  }
  return result;
}

}  // namespace strata::compliance
