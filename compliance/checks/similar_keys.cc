#include "compliance/checks/similar_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text/counts.h"
#include "base/text/edit_distance.h"

namespace strata::compliance {
namespace {

std::string letters_of(std::string_view key) {
  std::string letters;
  for (const char c : key) {
    if (c != '_' && c != '-')
      letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

std::multiset<std::string_view> key_parts(std::string_view key) {
  std::multiset<std::string_view> parts;
  while (!key.empty()) {
    const size_t end = std::min(key.find('_'), key.size());
    if (end > 0) parts.insert(key.substr(0, end));
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return parts;
}

// Returns whether the parts of one key, in order, begin those of the other, as in "eval_acc".
bool is_shortened(std::string_view a, std::string_view b) {
  constexpr size_t kFewest = 3;
  size_t alike = 0, shortened = 0;
  while (!a.empty() && !b.empty()) {
    const std::string_view x = a.substr(0, a.find('_')), y = b.substr(0, b.find('_'));
    if (std::min(x.size(), y.size()) < kFewest || (!x.starts_with(y) && !y.starts_with(x))) {
      return false;
    }
    ++(x == y ? alike : shortened);
    a.remove_prefix(std::min(x.size() + 1, a.size()));
    b.remove_prefix(std::min(y.size() + 1, b.size()));
  }
  return a.empty() && b.empty() && alike > 0 && shortened > 0;
}

// Returns 0 if the keys are not similar at all; otherwise lower means more similar.
int unlikeness(std::string_view wanted, std::string_view key) {
  constexpr size_t kLetters = 6;
  const std::string a = letters_of(wanted), b = letters_of(key);
  if (a == b) return 1;
  const auto x = key_parts(wanted), y = key_parts(key);
  if (x == y) return 2;
  const auto& more = x.size() > y.size() ? x : y;
  const auto& less = x.size() > y.size() ? y : x;
  if (less.size() >= 2 && more.size() == less.size() + 1 && std::ranges::includes(more, less))
    return 3;
  if (is_shortened(wanted, key)) return 4;
  if (std::min(a.size(), b.size()) < kLetters) return 0;
  const size_t apart = edit_distance(a, b, 2);
  return apart <= 2 ? 3 + static_cast<int>(apart) : 0;
}

constexpr size_t kTogether = 3;

bool is_repeat(const Finding& finding) {
  return finding.rule == "EXACTLY_ONE" && finding.found.ends_with(" occurrences") &&
         !finding.found.starts_with("0 ");
}

Finding together(const std::vector<const Finding*>& repeats) {
  constexpr size_t kShown = 40;
  std::vector<std::string_view> keys;
  for (const Finding* one : repeats) keys.push_back(one->key);
  const size_t more = keys.size() > kShown ? keys.size() - kShown : 0;
  keys.resize(keys.size() - more);
  const std::string& found = repeats.front()->found;
  Finding finding;
  finding.summary = fmt::format(
      "{} are logged {} times each instead of once, as if {} processes had written this log: {}{}",
      counted(repeats.size(), "key"), found.substr(0, found.find(' ')),
      found.substr(0, found.find(' ')), fmt::join(keys, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "");
  finding.id = "log/repeated-events";
  return finding;
}

}  // namespace

std::string_view similar_key(std::string_view wanted, const std::vector<std::string>& keys) {
  std::string_view best;
  int least = 0;
  for (const std::string& key : keys) {
    const int unlike = unlikeness(wanted, key);
    if (unlike == 0 || (least > 0 && unlike >= least)) continue;
    least = unlike;
    best = key;
  }
  return best;
}

std::vector<Finding> merge_repeats(const std::vector<Finding>& findings) {
  std::map<std::string_view, std::vector<const Finding*>> by_count;
  for (const Finding& finding : findings) {
    if (is_repeat(finding)) by_count[finding.found].push_back(&finding);
  }
  std::vector<Finding> shorter;
  for (const Finding& finding : findings) {
    const auto repeats = is_repeat(finding) ? by_count.find(finding.found) : by_count.end();
    if (repeats == by_count.end() || repeats->second.size() < kTogether) {
      shorter.push_back(finding);
    } else if (repeats->second.front() == &finding) {
      shorter.push_back(together(repeats->second));
    }
  }
  return shorter;
}

}  // namespace strata::compliance
