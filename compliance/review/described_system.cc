#include "compliance/review/described_system.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/edit_distance.h"
#include "base/text/lower_case.h"
#include "compliance/review/spelling.h"
#include "mllog/json_scan.h"
#include "mllog/log_value.h"

namespace strata::compliance {
namespace {

constexpr size_t kMostDigits = 6;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Returns lower-case letters, digits, and bytes beyond ASCII.
std::string name_of(std::string_view text) {
  std::string out;
  for (const char c : without_accents(text)) {
    if (is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80) out += lower(c);
  }
  return out;
}

// Returns the lower-case words of a name: letters and digits, and bytes beyond ASCII. "IntelHabana"
// has two.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : text) {
    const bool part = is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
    const bool begins = std::isupper(static_cast<unsigned char>(c)) != 0 &&
                        std::islower(static_cast<unsigned char>(before)) != 0;
    if ((!part || begins) && !words.back().empty()) words.emplace_back();
    if (part) words.back() += lower(c);
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Returns whether a word names a company, not its kind.
bool names_somebody(const std::string& word) {
  static const std::set<std::string> kKinds = {
      "ai",          "and",           "center",      "centre",       "centers",
      "cloud",       "company",       "computing",   "computer",     "corp",
      "corporation", "data",          "enterprise",  "for",          "gmbh",
      "group",       "inc",           "information", "institute",    "labs",
      "laboratory",  "limited",       "lab",         "ltd",          "national",
      "network",     "networks",      "of",          "research",     "science",
      "sciences",    "semiconductor", "server",      "services",     "supercomputing",
      "system",      "systems",       "tech",        "technologies", "technology",
      "the",         "university"};
  return word.size() >= 3 && !kKinds.contains(word);
}

// Returns whether `name` consists of the initials of `words`, with or without lower-case words.
bool is_initials(const std::string& name, const std::vector<std::string>& words) {
  if (words.size() < 2 || name.size() < 2) return false;
  std::string all, of_large;
  for (const std::string& word : words) {
    all += word.front();
    if (word != "of" && word != "and" && word != "the" && word != "for") of_large += word.front();
  }
  return name == all || name == of_large;
}

bool is_placeholder(std::string_view text) {
  return lower_case(text).find("placeholder") != std::string::npos;
}

// Returns whether two names mean one benchmark. Some rounds name it differently in logs and
// folders.
bool same_benchmark(std::string_view a, std::string_view b) {
  const std::string x = name_of(a), y = name_of(b);
  if (x == y || x.find(y) == 0 || y.find(x) == 0) return true;
  const auto pair = [&](std::string_view one, std::string_view other) {
    return (x == one && y == other) || (x == other && y == one);
  };
  return pair("ssd", "retinanet") || pair("gnn", "rgat") || pair("oc20", "opencatalyst");
}

// Returns "cloud", "onprem", "preview" or "research", or an empty text if the words contain none of
// them, such as "available" of rounds 1.0 to 2.1.
std::string_view status_of(std::string_view words) {
  const std::string text = name_of(words);
  if (text.find("cloud") != text.npos) return "cloud";
  if (text.find("onprem") != text.npos) return "onprem";
  if (text.find("preview") != text.npos) return "preview";
  if (text.find("research") != text.npos || text == "rdi") return "research";
  return {};
}

std::optional<double> number_at(std::string_view digits) {
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  double value = 0;
  for (const char c : digits) value = 10 * value + (c - '0');
  return value;
}

// Returns the word of an accelerator's name that holds letters, then digits: "A100", "MI300X",
// "v4".
std::string model_word(std::string_view model) {
  for (size_t at = 0; at < model.size();) {
    size_t end = at;
    while (end < model.size() && (is_letter(model[end]) || is_digit(model[end]))) ++end;
    const std::string_view word = model.substr(at, end - at);
    if (!word.empty() && is_letter(word.front()) && std::ranges::any_of(word, is_digit))
      return lower_case(word);
    at = std::max(end, at + 1);
  }
  return {};
}

std::string describe_logged(std::string_view key, std::string_view value) {
  return fmt::format("submission_{} is '{}'", key, printable_text(value));
}

}  // namespace

bool same_organisation(std::string_view a, std::string_view b) {
  constexpr size_t kTelling = 3;
  const std::string x = name_of(a), y = name_of(b);
  if (x.empty() || y.empty() || x == y) return true;
  const bool either = x.find(y) != x.npos || y.find(x) != y.npos;
  if (either && std::min(x.size(), y.size()) >= kTelling) return true;
  const std::vector<std::string> of_a = words_of(a), of_b = words_of(b);
  // "Giga Computing" and "GIGABYTE" are one organisation, too.
  constexpr size_t kBeginning = 4;
  const auto same_word = [](const std::string& one, const std::string& other) {
    return one == other || (std::min(one.size(), other.size()) >= kBeginning &&
                            (one.starts_with(other) || other.starts_with(one)));
  };
  for (const std::string& one : of_a) {
    for (const std::string& other : of_b) {
      if (names_somebody(one) && names_somebody(other) && same_word(one, other)) return true;
    }
  }
  const auto holds_initials = [](const std::vector<std::string>& of,
                                 const std::vector<std::string>& words) {
    return std::ranges::any_of(of, [&](const std::string& one) { return is_initials(one, words); });
  };
  if (holds_initials(of_a, of_b) || holds_initials(of_b, of_a)) return true;
  constexpr size_t kLetters = 5, kManyLetters = 8;
  const size_t shorter = std::min(x.size(), y.size());
  const size_t most = shorter >= kManyLetters ? 2 : shorter >= kLetters ? 1 : 0;
  return most > 0 && edit_distance(x, y, most) <= most;
}

DescribedSystem read_described_system(std::string_view json) {
  const auto text = [&](std::string_view field) -> std::string {
    const auto found = mllog::find_field(json, field);
    if (!found) return {};
    try {
      const mllog::EventValue value = mllog::parse_value(*found);
      if (!std::holds_alternative<std::string>(value)) return std::string(*found);
      return mllog::decode_json_text(found->substr(1, found->size() - 2));
    } catch (const Error&) {
      return {};
    }
  };
  const auto count = [&](std::string_view field) -> std::optional<double> {
    std::string held = text(field);
    if (held.ends_with(".0")) held.resize(held.size() - 2);
    if (held.empty() || !std::ranges::all_of(held, is_digit)) return std::nullopt;
    return number_at(held);
  };
  return {text("submitter"),        text("division"),
          text("status"),           text("accelerator_model_name"),
          count("number_of_nodes"), count("accelerators_per_node")};
}

DescribedSystem described_system(const std::filesystem::path& file) {
  constexpr uint64_t kMostBytes = 1 << 20;
  try {
    return read_described_system(read_file(file, kMostBytes));
  } catch (const Error&) {
    return {};  // other checks report it
  }
}

DescribedSystem without_counts(DescribedSystem system) {
  system.nodes.reset();
  system.accelerators_per_node.reset();
  return system;
}

std::optional<double> counted_nodes(std::string_view platform) {
  size_t end = 0;
  while (end < platform.size() && is_digit(platform[end])) ++end;
  const auto count = number_at(platform.substr(0, end));
  while (end < platform.size() && platform[end] == ' ') ++end;
  const bool times = end + 1 < platform.size() && lower(platform[end]) == 'x';
  return times ? count : std::nullopt;
}

std::optional<double> counted_accelerators(std::string_view platform, std::string_view model) {
  const std::string word = model_word(model), text = lower_case(platform);
  if (word.empty()) return std::nullopt;
  std::optional<double> sum;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) {
    size_t end = at;  // end of the number before it
    while (end > 0 && text[end - 1] == ' ') --end;
    const bool times = end > 0 && text[end - 1] == 'x';
    if (times) --end;
    // A number before a model may also name a series: "AS-4124 A100".
    if (!times && end < at) continue;
    while (end > 0 && text[end - 1] == ' ') --end;
    size_t begin = end;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    // "ND96A100" has no count.
    if (begin > 0 && is_letter(text[begin - 1]) && text[begin - 1] != 'x') continue;
    if (const auto count = number_at(std::string_view(text).substr(begin, end - begin)))
      sum = sum.value_or(0) + *count;
  }
  return sum;
}

std::vector<Doubt> review_system(const RunRecord& record, const DescribedSystem& system,
                                 std::string_view benchmark) {
  std::vector<Doubt> doubts;
  const auto said = [&](std::string_view key) { return std::string(record.said(key)); };
  const auto doubt = [&](std::string_view id, std::string_view key, std::string text) {
    const auto found = record.submission.find(key);
    doubts.push_back(
        {fmt::format("review/system/{}", id), std::move(text),
         found == record.submission.end() ? std::nullopt : std::optional(found->second.offset)});
  };
  if (const std::string org = said("org"); is_placeholder(org)) {
    doubt("placeholder", "org",
          fmt::format("{}, which is a placeholder: give the submitter's name to the script that "
                      "writes the log",
                      describe_logged("org", org)));
  } else if (!same_organisation(org, system.submitter)) {
    doubt("submitter", "org",
          fmt::format("{}, but the system description's submitter is '{}'; correct one of them",
                      describe_logged("org", org), printable_text(system.submitter)));
  }
  if (const std::string division = said("division");
      !division.empty() && !system.division.empty() &&
      name_of(division) != name_of(system.division)) {
    doubt("division", "division",
          fmt::format("{}, but the system description's division is '{}'; correct one of them",
                      describe_logged("division", division), printable_text(system.division)));
  }
  if (const std::string named = said("benchmark");
      !named.empty() && !same_benchmark(named, benchmark)) {
    doubt("benchmark", "benchmark",
          fmt::format("{}, but its folder is named '{}'; correct one of them",
                      describe_logged("benchmark", named), printable_text(benchmark)));
  }
  const std::string_view log_status = status_of(said("status")), status = status_of(system.status);
  if (!log_status.empty() && !status.empty() && log_status != status) {
    doubt("status", "status",
          fmt::format("{}, but the system description's status is '{}'; correct one of them",
                      describe_logged("status", said("status")), printable_text(system.status)));
  }
  const std::string platform = said("platform");
  if (is_placeholder(platform)) {
    doubt(
        "placeholder", "platform",
        fmt::format(
            "{}, which is a placeholder: give the system's name to the script that writes the log",
            describe_logged("platform", platform)));
  }
  const auto accelerators = counted_accelerators(platform, system.accelerator);
  const auto nodes = counted_nodes(platform);
  // Returns whether a number counts what the description counts: nodes, accelerators of one or of
  // all, or boards or halves of them, as for GB200 and MI250.
  const auto is_described = [&](double number) {
    if (!system.nodes && !system.accelerators_per_node) return true;
    const double a_node = system.accelerators_per_node.value_or(-1);
    const double all = system.nodes ? *system.nodes * a_node : -1;
    if (number == system.nodes || number == a_node || number == all) return true;
    const std::string model = lower_case(system.accelerator);
    const bool in_pairs = model.find("gb2") != model.npos || model.find("gb3") != model.npos ||
                          model.find("gh2") != model.npos || model.find("mi250") != model.npos;
    return in_pairs &&
           (2 * number == all || 2 * number == a_node || number == 2 * all || number == 2 * a_node);
  };
  if (accelerators && system.accelerators_per_node && !is_described(*accelerators)) {
    doubt("accelerators", "platform",
          fmt::format("{}, which means {}; the system description has {} per node",
                      describe_logged("platform", platform), counted(*accelerators, "accelerator"),
                      count_text(*system.accelerators_per_node)));
  }
  // "8xA100" counts accelerators.
  if (nodes && system.nodes && nodes != accelerators && !is_described(*nodes)) {
    doubt("nodes", "platform",
          fmt::format("{}, which means {}; the system description has number_of_nodes {}",
                      describe_logged("platform", platform), counted(*nodes, "node"),
                      count_text(*system.nodes)));
  }
  const auto compare = [&](const char* key, const char* id, std::optional<double> described) {
    const auto logged = record.numbers.find(key);
    if (logged == record.numbers.end() || !described || logged->second.value == *described) return;
    doubts.push_back(
        {fmt::format("review/system/{}", id),
         fmt::format("{} is {} in the log and {} in the system description; correct one of them",
                     key, count_text(logged->second.value), count_text(*described)),
         logged->second.offset});
  };
  compare("number_of_nodes", "nodes", system.nodes);
  compare("accelerators_per_node", "accelerators", system.accelerators_per_node);
  return doubts;
}

std::vector<ReviewFinding> review_same_system(const std::vector<RunRecord>& runs) {
  std::vector<ReviewFinding> findings;
  for (const std::string_view key : {"org", "platform", "division", "status", "benchmark"}) {
    std::set<std::string> values, folded;
    const RunRecord* odd = nullptr;
    for (const RunRecord& run : runs) {
      const std::string_view value = run.said(key);
      if (value.empty() || folded.contains(name_of(value))) continue;
      const auto is_same = [&](const std::string& one) { return same_organisation(one, value); };
      if (key == "org" && std::ranges::any_of(values, is_same)) continue;
      folded.insert(name_of(value));
      values.insert(printable_text(value));
      if (folded.size() == 2) odd = &run;
    }
    if (odd == nullptr) continue;
    constexpr size_t kShown = 4;
    std::vector<std::string> shown(values.begin(), values.end());
    const size_t more = shown.size() > kShown ? shown.size() - kShown : 0;
    shown.resize(shown.size() - more);
    findings.push_back(
        {"review/system/mixed",
         fmt::format("the runs of this folder disagree on submission_{}: '{}'{}; are "
                     "they all from one system?",
                     key, fmt::join(shown, "', '"),
                     more > 0 ? fmt::format(" and {} more", more) : ""),
         odd->path, 0});
  }
  return findings;
}

}  // namespace strata::compliance
