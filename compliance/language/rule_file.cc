#include "compliance/language/rule_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/numbers/random.h"
#include "base/text/from_chars.h"
#include "compliance/language/parser/rule_parser.h"

namespace strata::compliance {
namespace {

constexpr int kMaxIncludes = 50;

// The value of the last entry named `name`, as YAML readers of Python take it; yaml-cpp alone would
// take the first.
YAML::Node last_entry(const YAML::Node& map, std::string_view name) {
  YAML::Node found(YAML::NodeType::Undefined);
  for (const auto& entry : map) {
    if (entry.first.IsScalar() && entry.first.Scalar() == name) found.reset(entry.second);
  }
  return found;
}

class Compiler {
 public:
  Compiler(RuleFile& file, const std::function<std::string(const std::string&)>& read)
      : out_(file), read_(read) {}

  void add(const std::string& name, std::string_view text) {
    if (includes_++ > kMaxIncludes)  // the first file is not included
      strata::fail("{}: more than {} files are included", name, kMaxIncludes);
    bytes_ += text.size();
    if (bytes_ > kMaxRuleFileBytes) {
      strata::fail("{}: this rule file and those that include it have {} bytes, which is too much",
                   name, bytes_);
    }
    YAML::Node records;
    try {
      records = YAML::Load(std::string(text));
    } catch (const YAML::Exception& error) {
      strata::fail("{}: not valid YAML: {}", name, error.what());
    }
    if (!records || records.IsNull() || (records.IsSequence() && records.size() == 0))
      strata::fail("{}: holds no rules, so every log would pass; give a complete rule file", name);
    if (!records.IsSequence())
      strata::fail("{}: a list of BEGIN, KEY and END records was expected", name);
    file_ = name;
    for (const auto& record : records) add_record(record);
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(const YAML::Node& at, fmt::format_string<Args...> format,
                         Args&&... args) const {
    strata::fail("{}:{}: {}", file_, at.Mark().line + 1,
                 fmt::format(format, std::forward<Args>(args)...));
  }

  void add_record(const YAML::Node& record) {
    constexpr size_t kRecord = 16;
    spend(record, kRecord);
    if (!record.IsMap() || record.size() == 0)
      fail(record, "a BEGIN, KEY or END record was expected");
    const auto entry = *record.begin();
    const std::string kind = entry.first.Scalar();
    const YAML::Node body = entry.second;
    if (record.size() != 1)
      fail(record, "a record holds one of BEGIN, KEY and END; check the indentation");
    if (kind == "INCLUDE") {
      if (!body.IsScalar()) fail(body, "INCLUDE takes a file name");
      const std::string outer = file_;
      const std::string name = body.Scalar();
      add(name, read_(name));
      file_ = outer;
      return;
    }
    if (!body.IsMap()) fail(record, "{} has no fields", kind);
    if (kind == "BEGIN") {
      add_begin(body);
    } else if (kind == "KEY") {
      add_key(body);
    } else if (kind == "END") {
      add_end(body);
    } else {
      fail(record, "unknown record '{}'; BEGIN, KEY, END or INCLUDE was expected", kind);
    }
  }

  // A node counts each time that an alias leads to it.
  void spend(const YAML::Node& at, size_t work) {
    constexpr size_t kMostWork = 2 * kMaxRuleFileBytes;
    work_ += work;
    if (work_ > kMostWork) fail(at, "the rules are too large when their YAML aliases are expanded");
  }

  void check_fields(const YAML::Node& body, std::string_view record,
                    std::initializer_list<std::string_view> known) {
    spend(body, body.size());
    for (const auto& entry : body) {
      const std::string& name = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        fail(entry.first, "{} has an unknown field '{}'", record, name);
      }
    }
  }

  void add_begin(const YAML::Node& body) {
    check_fields(body, "BEGIN", {"CODE"});
    if (out_.begin) fail(body, "a file may have one BEGIN record only");
    const YAML::Node code = last_entry(body, "CODE");
    if (!code) fail(body, "BEGIN has no CODE");
    out_.begin.emplace(
        statements(code, "BEGIN", "CODE", FragmentPlace::kBegin, std::make_shared<Locals>()));
  }

  void add_end(const YAML::Node& body) {
    check_fields(body, "END", {"PRE", "CHECK"});
    if (out_.end_pre || !out_.end_checks.empty()) fail(body, "a file may have one END record only");
    const auto locals = std::make_shared<Locals>();
    if (const YAML::Node pre = last_entry(body, "PRE")) {
      out_.end_pre.emplace(statements(pre, "END", "PRE", FragmentPlace::kEnd, locals));
    }
    if (const YAML::Node check = last_entry(body, "CHECK")) {
      out_.end_checks = expressions(check, "END", "CHECK", FragmentPlace::kEnd, locals);
    }
  }

  void add_key(const YAML::Node& body) {
    check_fields(body, "KEY",
                 {"NAME", "REQ", "PRE", "CHECK", "POST", "FIRST_CHECK", "ATLEAST_ONE_CHECK"});
    const YAML::Node name = last_entry(body, "NAME");
    if (!name || !name.IsScalar()) fail(body, "KEY has no NAME");
    spend(name, name.Scalar().size());
    KeyRule rule;
    rule.name = name.Scalar();
    rule.file = file_;
    rule.line = name.Mark().line + 1;
    if (const YAML::Node requirement = last_entry(body, "REQ"))
      rule.requirement = read_requirement(requirement);
    const auto one = [&](std::string_view field, bool is_expression) -> std::optional<RuleCode> {
      const YAML::Node code = last_entry(body, field);
      if (!code) return std::nullopt;
      auto locals = std::make_shared<Locals>();
      return is_expression
                 ? expression(code, rule.name, field, FragmentPlace::kLine, std::move(locals))
                 : statements(code, rule.name, field, FragmentPlace::kLine, std::move(locals));
    };
    rule.pre = one("PRE", false);
    rule.post = one("POST", false);
    rule.at_least_one_check = one("ATLEAST_ONE_CHECK", true);
    rule.first_check = one("FIRST_CHECK", true);
    if (const YAML::Node checks = last_entry(body, "CHECK")) {
      rule.checks =
          expressions(checks, rule.name, "CHECK", FragmentPlace::kLine, std::make_shared<Locals>());
    }
    for (const auto* code : {&rule.pre, &rule.post, &rule.first_check, &rule.at_least_one_check}) {
      if (*code) add_uses((*code)->fragment, rule.uses);
    }
    for (const RuleCode& check : rule.checks) add_uses(check.fragment, rule.uses);
    rule.runs_once = rule.name.find("submission_") != std::string::npos;
    const auto [known, added] = index_.emplace(rule.name, out_.keys.size());
    if (added) {
      out_.keys.push_back(std::move(rule));
    } else {
      out_.keys[known->second] = std::move(rule);
    }
  }

  Requirement read_requirement(const YAML::Node& node) {
    if (!node.IsScalar()) fail(node, "REQ takes one word");
    spend(node, node.Scalar().size());
    Requirement requirement;
    requirement.text = node.Scalar();
    const std::string_view text = requirement.text;
    constexpr std::string_view kOr = "AT_LEAST_ONE_OR(";
    constexpr std::string_view kLeast = "AT_LEAST(";
    if (text == "EXACTLY_ONE") {
      requirement.kind = Requirement::kExactlyOne;
    } else if (text == "AT_LEAST_ONE") {
      requirement.kind = Requirement::kAtLeast;
      requirement.least = 1;
    } else if (text.starts_with(kOr) && text.ends_with(')')) {
      requirement.kind = Requirement::kAtLeastOneOr;
      std::string_view names = text.substr(kOr.size(), text.size() - kOr.size() - 1);
      while (!names.empty()) {
        const size_t comma = std::min(names.find(','), names.size());
        std::string_view name = names.substr(0, comma);
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        requirement.alternatives.emplace_back(name);
        names.remove_prefix(std::min(comma + 1, names.size()));
      }
    } else if (text.starts_with(kLeast) && text.ends_with(')')) {
      requirement.kind = Requirement::kAtLeast;
      const auto [end, error] =
          from_chars(text.data() + kLeast.size(), text.data() + text.size() - 1, requirement.least);
      if (error != std::errc() || *end != ')') fail(node, "REQ '{}' holds no number", text);
    } else if (text != "OPTIONAL") {
      fail(node, "unknown REQ '{}'", text);
    }
    return requirement;
  }

  RuleCode statements(const YAML::Node& code, std::string_view rule, std::string_view field,
                      FragmentPlace place, std::shared_ptr<Locals> locals) {
    return compile(code, rule, field, [&](const std::string& text) {
      return compile_statements(text, place, std::move(locals));
    });
  }

  RuleCode expression(const YAML::Node& code, std::string_view rule, std::string_view field,
                      FragmentPlace place, std::shared_ptr<Locals> locals) {
    return compile(code, rule, field, [&](const std::string& text) {
      return compile_expression(text, place, std::move(locals));
    });
  }

  std::vector<RuleCode> expressions(const YAML::Node& code, std::string_view rule,
                                    std::string_view field, FragmentPlace place,
                                    const std::shared_ptr<Locals>& locals) {
    std::vector<RuleCode> out;
    if (!code.IsSequence()) {
      out.push_back(expression(code, rule, field, place, locals));
      return out;
    }
    for (const auto& item : code) out.push_back(expression(item, rule, field, place, locals));
    return out;
  }

  template <typename CompileText>
  RuleCode compile(const YAML::Node& code, std::string_view rule, std::string_view field,
                   CompileText compile_text) {
    if (!code.IsScalar()) fail(code, "rule '{}': {} must be code, written as text", rule, field);
    constexpr size_t kFragment = 64;
    spend(code, kFragment + code.Scalar().size());
    try {
      return {compile_text(code.Scalar()), file_, code.Mark().line + 1};
    } catch (const SyntaxFault& fault) {
      fail(code, "rule '{}', {}, line {} column {} of the code: {}", rule, field, fault.line,
           fault.column, fault.reason);
    }
  }

  RuleFile& out_;
  const std::function<std::string(const std::string&)>& read_;
  std::string file_;
  int includes_ = 0;
  size_t bytes_ = 0;
  size_t work_ = 0;
  std::unordered_map<std::string, size_t> index_;  // of out_.keys, by name
};

}  // namespace

// Hashes the size and both ends of a name, which is enough to tell keys apart.
uint64_t KeyTable::hash_of(std::string_view name) {
  uint64_t first = 0, last = 0;
  if (name.size() >= sizeof first) {
    std::memcpy(&first, name.data(), sizeof first);
    std::memcpy(&last, name.data() + name.size() - sizeof last, sizeof last);
  } else {
    for (const char c : name) first = first << 8 | static_cast<unsigned char>(c);
  }
  return splitmix64(first ^ splitmix64(last ^ name.size()));
}

void KeyTable::insert(std::string_view name, size_t place) {
  if (2 * ++taken_ > slots_.size()) {
    std::vector<Slot> old(std::max<size_t>(16, 2 * slots_.size()));
    old.swap(slots_);
    taken_ = 1;
    for (const Slot& slot : old) {
      if (slot.place != kNone) insert(slot.name, slot.place);
    }
  }
  size_t at = hash_of(name) & (slots_.size() - 1);
  while (slots_[at].place != kNone) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {name, place};
}

std::optional<size_t> KeyTable::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  for (size_t at = hash_of(name);; ++at) {
    const Slot& slot = slots_[at & (slots_.size() - 1)];
    if (slot.place == kNone) return std::nullopt;
    if (slot.name == name) return slot.place;
  }
}

RuleFile compile_rule_file(const std::string& name, std::string_view text,
                           const std::function<std::string(const std::string&)>& read) {
  RuleFile file;
  file.name = name;
  Compiler(file, read).add(name, text);
  for (size_t i = 0; i < file.keys.size(); ++i) file.by_key.insert(file.keys[i].name, i);
  return file;
}

}  // namespace strata::compliance
