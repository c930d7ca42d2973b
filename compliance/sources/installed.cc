#include "compliance/sources/installed.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// The XDG Base Directory Specification says to ignore relative paths in these variables.
fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  const fs::path path = value == nullptr ? "" : value;
  return path.is_absolute() ? path : fs::path();
}

// Sorts "3.11" after "3.9".
bool natural_less(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& text, size_t& at) {
    const size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return std::string_view(text).substr(begin, at - begin);
  };
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::string_view x = digits(a, i), y = digits(b, j);
    if (x != y) return std::pair(x.size(), x) < std::pair(y.size(), y);
    if (!x.empty()) continue;
    if (a[i] != b[j]) return a[i] < b[j];
    ++i, ++j;
  }
  return a.size() < b.size();
}

std::vector<fs::path> newest_first(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found = list_directory(folder, ignored);
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(b.filename().string(), a.filename().string());
  });
  return found;
}

// Adds PREFIX/lib/python3.11/site-packages, newest Python first.
void add_prefix(const fs::path& prefix, std::vector<fs::path>& folders) {
  if (prefix.empty()) return;
  for (const fs::path& python : newest_first(prefix / "lib")) {
    if (!python.filename().string().starts_with("python3")) continue;
    folders.push_back(python / "site-packages");
    folders.push_back(python / "dist-packages");
  }
}

}  // namespace

fs::path user_rules_folder() {
  if (const fs::path data = folder_in("XDG_DATA_HOME"); !data.empty())
    return data / "strata" / "rules";
  const fs::path home = folder_in("HOME");
  return home.empty() ? home : home / ".local/share/strata/rules";
}

std::vector<InstalledRules> installed_rules() {
  std::vector<fs::path> folders;
  if (const fs::path user = user_rules_folder(); !user.empty()) {
    for (const fs::path& folder : newest_first(user)) {
      // A leading dot marks an unfinished installation.
      if (!folder.filename().string().starts_with('.')) folders.push_back(folder);
    }
  }
  const char* given = std::getenv("PYTHONPATH");
  for (std::string_view left = given == nullptr ? "" : given; !left.empty();) {
    const std::string_view folder = left.substr(0, left.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    add_prefix(folder_in(variable), folders);
  if (const fs::path home = folder_in("HOME"); !home.empty()) add_prefix(home / ".local", folders);
  add_prefix("/usr/local", folders);
  add_prefix("/usr", folders);

  std::vector<InstalledRules> found;
  std::vector<fs::path> known;
  for (const fs::path& folder : folders) {
    const fs::path package = folder / "mlperf_logging";
    std::error_code error;
    if (!fs::is_directory(package / "compliance_checker", error)) continue;
    const fs::path real = fs::canonical(package, error);
    if (error || std::ranges::find(known, real) != known.end()) continue;
    known.push_back(real);
    try {
      found.push_back({package, RuleStore(package).version()});
    } catch (const Error&) {
      // A package without rules is skipped.
    }
  }
  return found;
}

std::unique_ptr<RuleStore> open_rules(const std::string& given) {
  if (!given.empty() && given != kBuiltIn) return std::make_unique<RuleStore>(given);
  auto rules = std::make_unique<RuleStore>();
  if (given == kBuiltIn) return rules;
  for (const InstalledRules& installed : installed_rules())
    rules->fall_back_on(std::make_unique<RuleStore>(installed.package, "found"));
  return rules;
}

fs::path points_beside_rules(const fs::path& rules) {
  std::error_code error;
  for (const char* inner : {"rcp_checker", "mlperf_logging/rcp_checker", "../rcp_checker"}) {
    const fs::path folder = rules / inner;
    if (fs::is_directory(folder, error)) return folder.lexically_normal();
  }
  return {};
}

std::vector<fs::path> installed_points(const std::string& given) {
  std::vector<fs::path> sources;
  if (!given.empty()) return sources;
  for (const InstalledRules& installed : installed_rules()) sources.push_back(installed.package);
  return sources;
}

}  // namespace strata::compliance
