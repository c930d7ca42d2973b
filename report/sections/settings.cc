#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text/counts.h"
#include "report/sections/section.h"

namespace strata::report {
namespace {

// Values of more systems are counted instead.
constexpr size_t kMostSideBySide = 6;

std::string setting_of(const ReportedFolder& folder, const std::string& name) {
  const auto found = folder.settings.find(name);
  return found == folder.settings.end() ? "-" : found->second;
}

// Returns whether the folder has the source that `name` comes from: its log, its configuration or
// its system's description.
bool knows_source_of(const ReportedFolder& folder, const std::string& name) {
  const std::string source = name.substr(0, name.find(':') + 1);
  const auto first = folder.settings.lower_bound(source);
  return first != folder.settings.end() && first->first.starts_with(source);
}

// Returns the names whose values differ between folders that have their source.
std::vector<std::string> differing(const std::vector<const ReportedFolder*>& folders) {
  std::set<std::string> names;
  for (const ReportedFolder* folder : folders) {
    for (const auto& [name, value] : folder->settings) names.insert(name);
  }
  std::vector<std::string> result;
  for (const std::string& name : names) {
    std::set<std::string> values;
    for (const ReportedFolder* folder : folders) {
      if (knows_source_of(*folder, name)) values.insert(setting_of(*folder, name));
    }
    if (values.size() > 1) result.push_back(name);
  }
  return result;
}

// Returns "64 (12 systems), 128 (3 systems)", the most frequent first.
std::string values_of(const std::vector<const ReportedFolder*>& folders, const std::string& name) {
  std::map<std::string, size_t> counts;
  for (const ReportedFolder* folder : folders) {
    if (knows_source_of(*folder, name)) ++counts[setting_of(*folder, name)];
  }
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < std::min(kMost, sorted.size()); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", plain(sorted[i].first, 40),
                        counted(sorted[i].second, "system"));
  }
  if (sorted.size() > kMost) text += " and " + counted(sorted.size() - kMost, "other value");
  return text;
}

// Returns whether enough folders have the setting; rare ones are left out.
bool is_common(const std::vector<const ReportedFolder*>& folders, const std::string& name) {
  size_t known = 0, has = 0;
  for (const ReportedFolder* folder : folders) {
    if (!knows_source_of(*folder, name)) continue;
    ++known;
    has += folder->settings.contains(name) ? 1 : 0;
  }
  return 2 * has >= known;
}

std::string differences(const std::vector<const ReportedFolder*>& folders,
                        const std::string& benchmark) {
  std::vector<std::string> names = differing(folders);
  const bool side_by_side = folders.size() <= kMostSideBySide;
  if (!side_by_side) {
    std::erase_if(names, [&](const std::string& name) { return !is_common(folders, name); });
  }
  if (names.empty()) {
    return paragraph(benchmark_name(benchmark) + ": all known settings are the same.");
  }
  std::vector<std::string> columns = {"Setting"};
  if (side_by_side) {
    for (const ReportedFolder* folder : folders) columns.push_back(folder->owner.name);
  } else {
    columns.emplace_back("Values");
  }
  Table table("settings-" + file_name(benchmark),
              "Settings that differ, " + benchmark_name(benchmark), columns);
  for (const std::string& name : names) {
    std::vector<Cell> cells = {name};
    if (side_by_side) {
      for (const ReportedFolder* folder : folders) cells.emplace_back(setting_of(*folder, name));
    } else {
      cells.emplace_back(values_of(folders, name));
    }
    table.add(std::move(cells), -1, benchmark);
  }
  return fmt::format("<details{}><summary>{}: {}</summary>\n{}</details>\n",
                     owner_attributes(-1, benchmark), escape(benchmark_name(benchmark)),
                     counted(names.size(), "setting differs", "settings differ"), table.html());
}

}  // namespace

Section settings_section(const ReportData& data) {
  std::string html;
  for (const std::string& benchmark : data.groups) {
    const auto folders = folders_of(data, benchmark);
    if (folders.size() > 1) html += differences(folders, benchmark);
  }
  return {"settings", "Settings that differ", html};
}

}  // namespace strata::report
