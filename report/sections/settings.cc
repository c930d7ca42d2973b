#include <fmt/format.h>

#include <set>

#include "report/sections/section.h"

namespace strata::report {
namespace {

// More columns than that are rows instead.
constexpr size_t kMostSideBySide = 6;

std::string setting_of(const ReportedFolder& folder, const std::string& name) {
  const auto found = folder.settings.find(name);
  return found == folder.settings.end() ? "-" : found->second;
}

// Whether anything is known of a folder from where `name` comes from: its log, its configuration or
// its system's description.
bool knows_source_of(const ReportedFolder& folder, const std::string& name) {
  const std::string source = name.substr(0, name.find(':') + 1);
  const auto first = folder.settings.lower_bound(source);
  return first != folder.settings.end() && first->first.starts_with(source);
}

// Names whose values differ between folders that are known to that extent.
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

std::string differences(const std::vector<const ReportedFolder*>& folders,
                        const std::string& benchmark) {
  const std::vector<std::string> names = differing(folders);
  if (names.empty()) {
    return paragraph(benchmark_name(benchmark) + ": all settings that are known are the same.");
  }
  const bool side_by_side = folders.size() <= kMostSideBySide;
  std::vector<std::string> columns = {side_by_side ? "Setting" : "System"};
  if (side_by_side) {
    for (const ReportedFolder* folder : folders) columns.push_back(folder->owner.name);
  } else {
    columns.insert(columns.end(), names.begin(), names.end());
  }
  Table table("settings-" + file_name(benchmark),
              "Settings that differ, " + benchmark_name(benchmark), columns);
  if (side_by_side) {
    for (const std::string& name : names) {
      std::vector<Cell> cells = {name};
      for (const ReportedFolder* folder : folders) cells.emplace_back(setting_of(*folder, name));
      table.add(std::move(cells), -1, benchmark);
    }
  } else {
    for (const ReportedFolder* folder : folders) {
      std::vector<Cell> cells = {folder->owner.name};
      for (const std::string& name : names) cells.emplace_back(setting_of(*folder, name));
      table.add(std::move(cells), folder->owner.system, benchmark);
    }
  }
  return fmt::format("<details{}><summary>{}: {} settings differ</summary>\n{}</details>\n",
                     owner_attributes(-1, benchmark), escape(benchmark_name(benchmark)),
                     names.size(), table.html());
}

}  // namespace

Section settings_section(const ReportData& data) {
  std::string html;
  for (const std::string& benchmark : data.benchmarks) {
    const auto folders = folders_of(data, benchmark);
    if (folders.size() > 1) html += differences(folders, benchmark);
  }
  return {"settings", "Settings that differ", html};
}

}  // namespace strata::report
