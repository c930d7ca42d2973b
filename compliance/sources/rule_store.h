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

#include "base/files/files.h"
#include "compliance/language/rule_file.h"

namespace strata::compliance {

// What is built into the program from compliance/rules and compliance/rcp, by name, in order.
const std::vector<EmbeddedFile>& embedded_files();
std::optional<std::string_view> find_embedded(std::string_view name);

// Which rules judged.
struct RuleIdentity {
  std::string source;   // "built in", "given" or "found"; empty where nothing judged
  std::string version;  // of Strata, or of the mlperf_logging that holds them; empty where unknown
  std::string path;     // the directory of their rule sets; empty for those built in
  std::string usage, ruleset;
  std::string sha256;  // of the rule set: see RuleStore::identity

  // One line for people: all of it, of the hash the first 16 digits.
  std::string text() const;
};

// The version of this program, and so of its own rules.
std::string own_version();

// Compiles each rule file once. Thread-safe.
class RuleStore {
 public:
  // Strata's own rules.
  RuleStore() = default;
  // The rules in `directory`: one that holds folders such as training_5.0.0, or the root of an
  // installed mlperf_logging package. `source`: how they came to be chosen. Throws Error where
  // there are none.
  explicit RuleStore(const std::filesystem::path& directory, std::string source = "given");

  // Other rules, that judge where these lack the round or the benchmark; the first that has them.
  // To be called before any thread uses these.
  void fall_back_on(std::unique_ptr<RuleStore> other) { others_.push_back(std::move(other)); }
  // The rules that judge such a log: these, unless they lack what others have. `of_round`: whether
  // the round has the benchmark; one that it has not fails by whatever rules there are.
  RuleStore& judging(std::string_view usage, std::string_view ruleset, std::string_view benchmark,
                     bool of_round);

  // Whether there are rules for, say, "training" and "2.1.0", here or in what they fall back on.
  bool has_ruleset(std::string_view usage, std::string_view ruleset) const;
  // The rulesets there are for a usage, in order.
  std::vector<std::string> rulesets(std::string_view usage) const;
  // Those here alone.
  bool has_own_ruleset(std::string_view usage, std::string_view ruleset) const;
  std::vector<std::string> own_rulesets(std::string_view usage) const;
  // Null where there is no such file. Throws Error where it cannot be compiled, or where the name
  // leaves the directory.
  std::shared_ptr<const RuleFile> load(const std::string& name);
  // False for benchmarks that the built-in rules do not cover: they are BERT's.
  bool covers(std::string_view benchmark) const {
    return !directory_.empty() || benchmark == "bert";
  }
  // The names of the .yaml files in a folder of the rules such as "training_5.0.0", in order.
  std::vector<std::string> files_of(const std::string& folder) const;
  // The files of a rule set, in order: those of its folder, and of every other folder of the rules
  // that such a file names, as includes and rules of an earlier round that it goes on to.
  std::vector<std::string> files_of_ruleset(std::string_view usage, std::string_view ruleset) const;
  // Whose rule set this is. Its hash is the SHA-256 of what `sha256sum` prints of those files.
  RuleIdentity identity(std::string_view usage, std::string_view ruleset);
  // For messages: "Strata's own rules" or the directory.
  std::string description() const;
  const std::filesystem::path& directory() const { return directory_; }
  const std::string& version() const { return version_; }
  const std::string& source() const { return source_; }

 private:
  std::vector<std::string> folders() const;
  std::optional<std::string> read(const std::string& name) const;
  std::string text_to_hash(const std::string& name) const;  // empty where it cannot be read

  std::filesystem::path directory_;  // empty for the built-in rules
  std::string source_ = "built in";
  std::string version_ = own_version();
  std::vector<std::unique_ptr<RuleStore>> others_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const RuleFile>> compiled_;
  std::map<std::string, std::string> hashes_;  // by the rule set's folder
};

}  // namespace strata::compliance
