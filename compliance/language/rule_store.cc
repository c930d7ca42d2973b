#include "compliance/language/rule_store.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// True for a relative name that cannot leave its directory.
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

// The parts of "4.10.0" between dots. Of two numbers the one with more digits is larger.
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

// "4.10.0" after "4.9.0".
bool version_less(const std::string& a, const std::string& b) { return parts_of(a) < parts_of(b); }

}  // namespace

std::optional<std::string_view> find_embedded(std::string_view name) {
  const auto& files = embedded_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& file) { return file.name == name; });
  if (found == files.end()) return std::nullopt;
  return found->text;
}

RuleStore::RuleStore(const fs::path& directory) {
  for (const fs::path& inner : {fs::path(), fs::path("compliance_checker"),
                                fs::path("mlperf_logging/compliance_checker")}) {
    if (!holds_rulesets(directory / inner)) continue;
    directory_ = directory / inner;
    return;
  }
  fail(
      "{}: holds no rules; a directory with folders such as training_5.0.0, each with a "
      "common.yaml, was expected",
      directory.string());
}

bool RuleStore::has_ruleset(std::string_view usage, std::string_view ruleset) const {
  const std::string name = fmt::format("{}_{}/common.yaml", usage, ruleset);
  std::error_code error;
  return directory_.empty() ? find_embedded("rules/" + name).has_value()
                            : is_safe_name(name) && fs::exists(directory_ / name, error);
}

std::vector<std::string> RuleStore::rulesets(std::string_view usage) const {
  std::vector<std::string> found;
  const std::string prefix = fmt::format("{}_", usage);
  const auto add = [&](const std::string& folder) {
    if (folder.starts_with(prefix) && has_ruleset(usage, folder.substr(prefix.size())) &&
        folder.find("warn") == folder.npos) {
      found.push_back(folder.substr(prefix.size()));
    }
  };
  if (directory_.empty()) {
    for (const EmbeddedFile& file : embedded_files()) {
      const fs::path path(file.name);
      if (path.filename() == "common.yaml") add(path.parent_path().filename().string());
    }
  } else {
    std::error_code ignored;
    for (const fs::path& folder : list_directory(directory_, ignored))
      add(folder.filename().string());
  }
  std::sort(found.begin(), found.end(), version_less);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
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
          if (!inner) fail("{}: there is no such rule file to include", included);
          return *std::move(inner);
        }));
  }
  compiled_.emplace(name, file);
  return file;
}

std::string RuleStore::description() const {
  return directory_.empty() ? "Strata's own rules"
                            : fmt::format("the rules in {}", directory_.string());
}

}  // namespace strata::compliance
