// A file of rules: a YAML list of BEGIN, KEY and END records, compiled. docs/compliance.md
// describes the format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/language/parser/rule_tree.h"
#include "compliance/language/rule_uses.h"

namespace strata::compliance {

// Bytes of a rule file with all that it includes. The published ones have 25 KiB.
inline constexpr size_t kMaxRuleFileBytes = 1u << 20;

// How often a key must occur.
struct Requirement {
  enum Kind { kNone, kExactlyOne, kAtLeast, kAtLeastOneOr } kind = kNone;
  uint64_t least = 0;                     // of kAtLeast
  std::vector<std::string> alternatives;  // of kAtLeastOneOr: the other keys that will do
  std::string text;                       // as written
};

struct RuleCode {
  Fragment fragment;
  std::string file;
  int line = 0;  // 1-based, in the rule file
};

struct KeyRule {
  std::string name;
  std::string file;
  int line = 0;
  Requirement requirement;
  std::optional<RuleCode> pre;
  std::vector<RuleCode> checks;
  std::optional<RuleCode> post;
  std::optional<RuleCode> first_check;
  std::optional<RuleCode> at_least_one_check;

  RuleUses uses;  // of all its code
  // PRE, CHECK and POST run for the key's first event only; true of names that contain
  // "submission_", as in the official checker.
  bool runs_once = false;

  bool has_code() const {
    return pre || !checks.empty() || post || first_check || at_least_one_check;
  }
};

// A hash table from key names to their index in RuleFile::keys. Keeps views of the names, which
// must outlive it. Small, as every event of a log is looked up in every file.
class KeyTable {
 public:
  // `name` is not in it yet.
  void insert(std::string_view name, size_t place);
  std::optional<size_t> find(std::string_view name) const;

 private:
  struct Slot {
    std::string_view name;
    size_t place = kNone;
  };
  static constexpr size_t kNone = ~size_t{0};
  static uint64_t hash_of(std::string_view name);

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  size_t taken_ = 0;
};

struct RuleFile {
  std::string name;
  std::optional<RuleCode> begin;
  std::vector<KeyRule> keys;  // in order of first appearance; the last record of a name counts
  KeyTable by_key;
  std::optional<RuleCode> end_pre;
  std::vector<RuleCode> end_checks;

  RuleFile() = default;
  RuleFile(RuleFile&&) = default;
};

// Compiles the text of a rule file. `read` gives the text of files named by INCLUDE records, which
// stand for that file's records. Throws Error that names file, rule, line and column for anything
// not understood.
RuleFile compile_rule_file(const std::string& name, std::string_view text,
                           const std::function<std::string(const std::string&)>& read);

}  // namespace strata::compliance
