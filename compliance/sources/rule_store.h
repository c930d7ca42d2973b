// The sources of rule files: built into the program, or a directory such as the official checker's.
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

// The files that the program contains from compliance/rules and compliance/rcp, by name, in order.
const std::vector<EmbeddedFile>& embedded_files();
std::optional<std::string_view> find_embedded(std::string_view name);

// Identifies the rules that judged a log.
struct RuleIdentity {
  std::string source;   // "built in", "given" or "found"; empty if nothing judged
  std::string version;  // Strata's version, or that of the mlperf_logging package; empty if unknown
  std::string path;     // directory of the rule sets; empty if they are built in
  std::string usage, ruleset;
  std::string sha256;  // hash of the rule set: see RuleStore::identity

  // Returns one line for people, with the first 16 digits of the hash.
  std::string text() const;
};

// Returns the version of this program and of its own rules.
std::string own_version();

// Compiles each rule file once. Thread-safe.
class RuleStore {
 public:
  // Uses Strata's own rules.
  RuleStore() = default;
  // Uses the rules in `directory`, which holds folders such as training_5.0.0, or is the root of an
  // installed mlperf_logging package. `source` says how they were chosen. Throws Error if there are
  // none.
  explicit RuleStore(const std::filesystem::path& directory, std::string source = "given");

  // Adds other rules for rounds or benchmarks that these lack; the first that has them is used. Not
  // thread-safe: call before other threads use these rules.
  void fall_back_on(std::unique_ptr<RuleStore> other) { others_.push_back(std::move(other)); }
  // Returns the rules that judge such a log: these, unless they lack what others have. `of_round`
  // says whether the round has the benchmark; if not, the log fails by any rules.
  RuleStore& judging(std::string_view usage, std::string_view ruleset, std::string_view benchmark,
                     bool of_round);

  // Returns whether there are rules for, say, "training" and "2.1.0", here or in the fallbacks.
  bool has_ruleset(std::string_view usage, std::string_view ruleset) const;
  // Returns the rulesets of a usage, in order.
  std::vector<std::string> rulesets(std::string_view usage) const;
  // The same without fallbacks.
  bool has_own_ruleset(std::string_view usage, std::string_view ruleset) const;
  std::vector<std::string> own_rulesets(std::string_view usage) const;
  // Returns null if there is no such file. Throws Error if it cannot be compiled, or the name
  // leaves the directory.
  std::shared_ptr<const RuleFile> load(const std::string& name);
  // Returns false for benchmarks that the built-in rules, BERT's, do not cover.
  bool covers(std::string_view benchmark) const {
    return !directory_.empty() || benchmark == "bert";
  }
  // Returns the names of the .yaml files in a folder such as "training_5.0.0", in order.
  std::vector<std::string> files_of(const std::string& folder) const;
  // Returns the files of a rule set, in order: those of its folder, and of every other folder of
  // the rules that such a file names to include it or to go on with an earlier round's rules.
  std::vector<std::string> files_of_ruleset(std::string_view usage, std::string_view ruleset) const;
  // Identifies a rule set. Its hash is the SHA-256 of what `sha256sum` prints for its files.
  RuleIdentity identity(std::string_view usage, std::string_view ruleset);
  // Returns "Strata's own rules" or the directory, for messages.
  std::string description() const;
  const std::filesystem::path& directory() const { return directory_; }
  const std::string& version() const { return version_; }
  const std::string& source() const { return source_; }

 private:
  std::vector<std::string> folders() const;
  std::optional<std::string> read(const std::string& name) const;
  std::string text_to_hash(const std::string& name) const;  // empty if it cannot be read

  std::filesystem::path directory_;  // empty for the built-in rules
  std::string source_ = "built in";
  std::string version_ = own_version();
  std::vector<std::unique_ptr<RuleStore>> others_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const RuleFile>> compiled_;
  std::map<std::string, std::string> hashes_;  // by the rule set's folder
};

}  // namespace strata::compliance
