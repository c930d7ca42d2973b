// Compares two rule sets, rule by rule.
#pragma once

#include <string>
#include <vector>

#include "compliance/sources/rule_store.h"

namespace strata::compliance {

// A field of a record, such as REQ or CHECK. A side without the field is empty.
struct FieldChange {
  std::string field;
  std::string before, after;
};

struct RuleChange {
  enum Kind { kAdded, kRemoved, kChanged } kind = kChanged;
  std::string file;  // file of the rule set, such as "closed_bert.yaml"
  std::string rule;  // the key, or BEGIN or END
  std::vector<FieldChange> fields;
};

struct RuleDiff {
  RuleIdentity before, after;
  std::vector<std::string> added_files, removed_files;
  std::vector<RuleChange> changes;  // in order of files, then of keys

  bool empty() const { return added_files.empty() && removed_files.empty() && changes.empty(); }
};

// Compares the files of the same name; included records belong to the file that includes them. If
// only one side has a file, every rule of it is added or removed. Throws Error if a store lacks its
// ruleset, or a file cannot be compiled.
RuleDiff diff_rules(RuleStore& before, const std::string& ruleset_before, RuleStore& after,
                    const std::string& ruleset_after, const std::string& usage);

}  // namespace strata::compliance
