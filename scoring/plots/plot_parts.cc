#include "scoring/plots/plot_parts.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text/trim.h"

namespace strata::scoring {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool has_digit(std::string_view text) { return std::ranges::any_of(text, is_digit); }

// Removes every "(R)" and "(TM)".
std::string without_marks(std::string text) {
  for (const std::string_view mark : {"(R)", "(r)", "(TM)", "(tm)"}) {
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
      text.erase(at, mark.size());
    }
  }
  return text;
}

// Returns the text before a word such as "256GB" or "80GB".
std::string_view before_memory(std::string_view name) {
  for (size_t at = name.find(' '); at != name.npos; at = name.find(' ', at + 1)) {
    const std::string_view word = name.substr(at + 1, name.find(' ', at + 1) - at - 1);
    if (word.ends_with("GB") && is_digit(word.front())) return name.substr(0, at);
  }
  return name;
}

// A parenthesis holds the model if the name before it has no digit: "Blackwell GPU (GB200)". Else
// it holds the power: "A100-SXM4-80GB (400W)".
std::string_view model_in(std::string_view name) {
  const size_t open = name.find('(');
  if (open == name.npos) return name;
  const std::string_view inside = name.substr(open + 1, name.find(')', open) - open - 1),
                         outside = trimmed(name.substr(0, open), " ");
  return !outside.empty() && !has_digit(outside) && has_digit(inside) ? inside : outside;
}

}  // namespace

std::string accelerators_in_short(std::optional<int64_t> count, const std::string& model) {
  constexpr size_t kLong = 12, kLongest = 16;
  if (count.value_or(0) <= 0 || model == "N/A") return "";
  const std::string whole = without_marks(model);
  std::string_view name = trimmed(before_memory(model_in(whole)), " ");
  for (const std::string_view maker : {"NVIDIA ", "AMD ", "Intel ", "Graphcore ", "Habana "}) {
    if (name.starts_with(maker)) name = trimmed(name.substr(maker.size()), " ");
  }
  // The first hyphen separates the model from its form and memory.
  if (drawing::characters_in(name) > kLong) name = name.substr(0, name.find('-'));
  if (name.empty()) return "";
  return fmt::format("{} {}", *count, drawing::shortened(name, kLongest));
}

std::string round_in_short(const std::string& round) {
  if (round.empty()) return "";
  return 'v' + (round.ends_with(".0") ? round.substr(0, round.size() - 2) : round);
}

}  // namespace strata::scoring
