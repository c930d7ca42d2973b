#include "compliance/sources/rule_store.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "compliance/sources/sha256.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Returns whether a name is relative and cannot leave its directory.
bool is_safe_name(const std::string& name) {
  if (name.empty() || name.size() > 300 || name.find('\0') != std::string::npos) return false;
  const fs::path path(name);
  return path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool holds_rulesets(const fs::path& directory) {
  std::error_code ignored;
  for (const fs::path& folder : list_directory(directory, ignored)) {
    if (fs::exists(folder / "common.yaml", ignored)) return true;
  }
  return false;
}

// Returns the parts of "4.10.0" between dots. Of two numbers the one with more digits is larger.
std::vector<std::pair<size_t, std::string_view>> parts_of(std::string_view version) {
  std::vector<std::pair<size_t, std::string_view>> parts;
  for (bool more = true; more;) {
    const std::string_view part = version.substr(0, version.find('.'));
    parts.emplace_back(part.size(), part);
    more = part.size() < version.size();
    if (more) version.remove_prefix(part.size() + 1);
  }
  return parts;
}

// Sorts "4.10.0" after "4.9.0".
bool version_less(const std::string& a, const std::string& b) { return parts_of(a) < parts_of(b); }

// Returns the version in the .dist-info folder beside the package that holds the rules.
std::string version_of_package(const fs::path& rules) {
  const fs::path package = rules.parent_path();
  if (package.filename() != "mlperf_logging") return "";
  std::error_code ignored;
  for (const fs::path& beside : list_directory(package.parent_path(), ignored)) {
    const std::string name = beside.filename().string();
    const std::string prefix = "mlperf_logging-", ending = ".dist-info";
    if (name.starts_with(prefix) && name.ends_with(ending))
      return name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
  }
  return "";
}

}  // namespace

std::optional<std::string_view> find_embedded(std::string_view name) {
  const auto& files = embedded_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& file) { return file.name == name; });
  if (found == files.end()) return std::nullopt;
  return found->text;
}

std::string own_version() { return STRATA_VERSION; }

std::string RuleIdentity::text() const {
  if (source.empty()) return "none";
  constexpr size_t kShownDigits = 16;
  const std::string whose = source == "built in" ? "Strata's own " + version
                            : version.empty()
                                ? path
                                : fmt::format("mlperf_logging {}, {} in {}", version, source, path);
  return fmt::format("{} ({} {}, sha256 {})", whose, usage, ruleset,
                     sha256.substr(0, kShownDigits));
}

RuleStore::RuleStore(const fs::path& directory, std::string source) : source_(std::move(source)) {
  for (const fs::path& inner : {fs::path(), fs::path("compliance_checker"),
                                fs::path("mlperf_logging/compliance_checker")}) {
    if (!holds_rulesets(directory / inner)) continue;
    directory_ = (directory / inner).lexically_normal();
    if (!directory_.has_filename()) directory_ = directory_.parent_path();
    version_ = version_of_package(directory_);
    return;
  }
  if (std::error_code ignored; !fs::is_directory(directory, ignored)) {
    fail("{}: is {}, a folder of rules was expected", directory.string(), what_is_at(directory));
  }
  fail("{}: holds no rules; it must hold folders such as training_5.0.0, each with a common.yaml",
       directory.string());
}

bool RuleStore::has_own_ruleset(std::string_view usage, std::string_view ruleset) const {
  const std::string name = fmt::format("{}_{}/common.yaml", usage, ruleset);
  std::error_code error;
  return directory_.empty() ? find_embedded("rules/" + name).has_value()
                            : is_safe_name(name) && fs::exists(directory_ / name, error);
}

bool RuleStore::has_ruleset(std::string_view usage, std::string_view ruleset) const {
  return has_own_ruleset(usage, ruleset) ||
         std::any_of(others_.begin(), others_.end(),
                     [&](const auto& other) { return other->has_ruleset(usage, ruleset); });
}

RuleStore& RuleStore::judging(std::string_view usage, std::string_view ruleset,
                              std::string_view benchmark, bool of_round) {
  if (has_own_ruleset(usage, ruleset) && (covers(benchmark) || !of_round)) return *this;
  for (const auto& other : others_) {
    if (other->has_own_ruleset(usage, ruleset)) return *other;
  }
  return *this;
}

std::vector<std::string> RuleStore::folders() const {
  std::vector<std::string> found;
  if (directory_.empty()) {
    for (const EmbeddedFile& file : embedded_files()) {
      const fs::path folder = fs::path(file.name).parent_path();
      if (folder.parent_path() == "rules") found.push_back(folder.filename().string());
    }
  } else {
    std::error_code ignored;
    for (const fs::path& folder : list_directory(directory_, ignored))
      found.push_back(folder.filename().string());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> RuleStore::own_rulesets(std::string_view usage) const {
  std::vector<std::string> found;
  const std::string prefix = fmt::format("{}_", usage);
  for (const std::string& folder : folders()) {
    if (folder.starts_with(prefix) && has_own_ruleset(usage, folder.substr(prefix.size())) &&
        folder.find("warn") == folder.npos) {
      found.push_back(folder.substr(prefix.size()));
    }
  }
  std::sort(found.begin(), found.end(), version_less);
  return found;
}

std::vector<std::string> RuleStore::rulesets(std::string_view usage) const {
  std::vector<std::string> found = own_rulesets(usage);
  for (const auto& other : others_) {
    const auto more = other->rulesets(usage);
    found.insert(found.end(), more.begin(), more.end());
  }
  std::sort(found.begin(), found.end(), version_less);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> RuleStore::files_of(const std::string& folder) const {
  std::vector<std::string> names;
  if (!is_safe_name(folder)) return names;
  if (directory_.empty()) {
    for (const EmbeddedFile& file : embedded_files()) {
      const fs::path path(file.name);
      if (path.parent_path() == fs::path("rules") / folder)
        names.push_back(folder + '/' + path.filename().string());
    }
  } else {
    std::error_code ignored;
    for (const fs::path& file : list_directory(directory_ / folder, ignored)) {
      if (file.extension() == ".yaml") names.push_back(folder + '/' + file.filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> RuleStore::files_of_ruleset(std::string_view usage,
                                                     std::string_view ruleset) const {
  const std::vector<std::string> all = folders();
  std::set<std::string> known = {fmt::format("{}_{}", usage, ruleset)};
  std::vector<std::string> to_read(known.begin(), known.end()), names;
  while (!to_read.empty()) {
    const std::string folder = std::move(to_read.back());
    to_read.pop_back();
    for (std::string& name : files_of(folder)) {
      const std::string text = text_to_hash(name);
      for (const std::string& other : all) {
        if (text.find(other + '/') != text.npos && known.insert(other).second)
          to_read.push_back(other);
      }
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string RuleStore::text_to_hash(const std::string& name) const {
  try {
    return read(name).value_or("");
  } catch (const Error&) {
    return "";  // whoever needs the file reports why it cannot be read
  }
}

RuleIdentity RuleStore::identity(std::string_view usage, std::string_view ruleset) {
  RuleIdentity identity{
      source_,      version_, directory_.string(), std::string(usage), std::string(ruleset),
      std::string()};
  const std::lock_guard lock(mutex_);
  std::string& hash = hashes_[fmt::format("{}_{}", usage, ruleset)];
  if (hash.empty()) {
    std::string sums;
    for (const std::string& name : files_of_ruleset(usage, ruleset))
      sums += fmt::format("{}  {}\n", sha256(text_to_hash(name)), name);
    hash = sha256(sums);
  }
  identity.sha256 = hash;
  return identity;
}

std::optional<std::string> RuleStore::read(const std::string& name) const {
  if (!is_safe_name(name))
    fail("rule file '{}': the name must stay inside the rule directory", name.substr(0, 200));
  if (directory_.empty()) {
    const auto text = find_embedded("rules/" + name);
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  std::error_code error;
  if (!fs::is_regular_file(directory_ / name, error)) return std::nullopt;
  return read_file(directory_ / name, kMaxRuleFileBytes);
}

std::shared_ptr<const RuleFile> RuleStore::load(const std::string& name) {
  if (!is_safe_name(name)) return nullptr;
  const std::lock_guard lock(mutex_);
  if (const auto found = compiled_.find(name); found != compiled_.end()) return found->second;
  std::shared_ptr<const RuleFile> file;
  if (const auto text = read(name)) {
    file = std::make_shared<const RuleFile>(
        compile_rule_file(name, *text, [this](const std::string& included) {
          auto inner = read(included);
          if (!inner) fail("{}: this included rule file does not exist", included);
          return *std::move(inner);
        }));
  }
  compiled_.emplace(name, file);
  return file;
}

std::string RuleStore::description() const {
  std::string text = directory_.empty() ? "Strata's own rules"
                                        : fmt::format("the rules in {}", directory_.string());
  for (const auto& other : others_) text += " and " + other->description();
  return text;
}

}  // namespace strata::compliance
