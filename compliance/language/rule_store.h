// Where rule files come from: those built into the program, or a directory such as the official
// checker's.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "compliance/language/rule_file.h"

namespace strata::compliance {

// What is built into the program from compliance/rules and compliance/rcp, by name, in order.
const std::vector<EmbeddedFile>& embedded_files();
std::optional<std::string_view> find_embedded(std::string_view name);

// Compiles each rule file once. Thread-safe.
class RuleStore {
 public:
  // Strata's own rules.
  RuleStore() = default;
  // The rules in `directory`: one that holds folders such as training_5.0.0, or the root of an
  // installed mlperf_logging package. Throws Error where there are none.
  explicit RuleStore(const std::filesystem::path& directory);

  // Whether there are rules for, say, "training" and "2.1.0".
  bool has_ruleset(std::string_view usage, std::string_view ruleset) const;
  // The rulesets there are for a usage, in order.
  std::vector<std::string> rulesets(std::string_view usage) const;
  // Null where there is no such file. Throws Error where it cannot be compiled, or where the name
  // leaves the directory.
  std::shared_ptr<const RuleFile> load(const std::string& name);
  // False for benchmarks that the built-in rules do not cover: they are BERT's.
  bool covers(std::string_view benchmark) const {
    return !directory_.empty() || benchmark == "bert";
  }
  // For messages: "Strata's own rules" or the directory.
  std::string description() const;

 private:
  std::optional<std::string> read(const std::string& name) const;

  std::filesystem::path directory_;  // empty for the built-in rules
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const RuleFile>> compiled_;
};

}  // namespace strata::compliance
