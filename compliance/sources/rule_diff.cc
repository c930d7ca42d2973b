#include "compliance/sources/rule_diff.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace strata::compliance {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

void add(Fields& fields, const char* name, const std::optional<RuleCode>& code) {
  if (code) fields.emplace_back(name, code->fragment.source);
}

void add(Fields& fields, const std::vector<RuleCode>& checks) {
  for (size_t i = 0; i < checks.size(); ++i) {
    fields.emplace_back(i == 0 ? "CHECK" : fmt::format("CHECK {}", i + 1),
                        checks[i].fragment.source);
  }
}

Fields fields_of(const KeyRule& rule) {
  Fields fields;
  if (!rule.requirement.text.empty()) fields.emplace_back("REQ", rule.requirement.text);
  add(fields, "PRE", rule.pre);
  add(fields, rule.checks);
  add(fields, "FIRST_CHECK", rule.first_check);
  add(fields, "ATLEAST_ONE_CHECK", rule.at_least_one_check);
  add(fields, "POST", rule.post);
  return fields;
}

// Returns every rule of a file, by its name.
std::map<std::string, Fields> rules_of(const RuleFile& file) {
  std::map<std::string, Fields> rules;
  if (file.begin) add(rules["BEGIN"], "CODE", file.begin);
  if (file.end_pre) add(rules["END"], "PRE", file.end_pre);
  if (!file.end_checks.empty()) add(rules["END"], file.end_checks);
  for (const KeyRule& rule : file.keys) rules["KEY " + rule.name] = fields_of(rule);
  return rules;
}

// Compares checks as multisets, so that a CHECK that only moved up or down is no change.
std::vector<FieldChange> compare(Fields before, Fields after) {
  const auto kind = [](const std::string& field) { return field.substr(0, field.find(' ')); };
  for (auto a = before.begin(); a != before.end();) {
    const auto same = std::find_if(after.begin(), after.end(), [&](const auto& b) {
      return kind(b.first) == kind(a->first) && b.second == a->second;
    });
    if (same == after.end()) {
      ++a;
    } else {
      after.erase(same);
      a = before.erase(a);
    }
  }
  std::vector<FieldChange> changes;
  for (const auto& [name, text] : before) {
    const std::string its_kind = kind(name);
    const auto partner = std::find_if(after.begin(), after.end(),
                                      [&](const auto& b) { return kind(b.first) == its_kind; });
    changes.push_back({its_kind, text, partner == after.end() ? "" : partner->second});
    if (partner != after.end()) after.erase(partner);
  }
  for (const auto& [name, text] : after) changes.push_back({kind(name), "", text});
  return changes;
}

void add_changes(const std::string& file, const std::map<std::string, Fields>& before,
                 const std::map<std::string, Fields>& after, RuleDiff& diff) {
  std::set<std::string> names;
  for (const auto* rules : {&before, &after}) {
    for (const auto& [name, fields] : *rules) names.insert(name);
  }
  for (const std::string& name : names) {
    const auto old = before.find(name), now = after.find(name);
    RuleChange change;
    change.file = file;
    change.rule = name;
    change.kind = old == before.end()  ? RuleChange::kAdded
                  : now == after.end() ? RuleChange::kRemoved
                                       : RuleChange::kChanged;
    change.fields = compare(old == before.end() ? Fields() : old->second,
                            now == after.end() ? Fields() : now->second);
    if (change.kind != RuleChange::kChanged || !change.fields.empty())
      diff.changes.push_back(std::move(change));
  }
}

std::set<std::string> file_names(RuleStore& rules, const std::string& folder) {
  std::set<std::string> names;
  for (const std::string& file : rules.files_of(folder))
    names.insert(std::filesystem::path(file).filename().string());
  return names;
}

}  // namespace

RuleDiff diff_rules(RuleStore& before, const std::string& ruleset_before, RuleStore& after,
                    const std::string& ruleset_after, const std::string& usage) {
  for (const auto& [rules, ruleset] :
       {std::pair(&before, &ruleset_before), std::pair(&after, &ruleset_after)}) {
    if (!rules->has_own_ruleset(usage, *ruleset)) {
      fail("{} have no ruleset '{}' for {}; the rulesets are: {}", rules->description(), *ruleset,
           usage, fmt::join(rules->own_rulesets(usage), ", "));
    }
  }
  RuleDiff diff;
  diff.before = before.identity(usage, ruleset_before);
  diff.after = after.identity(usage, ruleset_after);
  const std::string old_folder = fmt::format("{}_{}", usage, ruleset_before);
  const std::string new_folder = fmt::format("{}_{}", usage, ruleset_after);
  const auto old_files = file_names(before, old_folder), new_files = file_names(after, new_folder);
  std::set<std::string> all = old_files;
  all.insert(new_files.begin(), new_files.end());
  for (const std::string& file : all) {
    std::map<std::string, Fields> old_rules, new_rules;
    if (old_files.contains(file)) old_rules = rules_of(*before.load(old_folder + '/' + file));
    if (new_files.contains(file)) new_rules = rules_of(*after.load(new_folder + '/' + file));
    if (!old_files.contains(file)) diff.added_files.push_back(file);
    if (!new_files.contains(file)) diff.removed_files.push_back(file);
    add_changes(file, old_rules, new_rules, diff);
  }
  return diff;
}

}  // namespace strata::compliance
