#include "base/text/counts.h"

#include <fmt/format.h>

#include <cmath>

namespace strata {

std::string count_text(double number) {
  constexpr double kExact = 9e15;
  constexpr double kWhole = 1e3;  // fractions of larger numbers are not informative
  const double size = std::fabs(number);
  if (size >= kWhole && size < kExact) number = std::round(number);
  if (!(size < kExact) || number != std::floor(number)) return fmt::format("{:.6g}", number);
  std::string digits = fmt::format("{:.0f}", number == 0 ? 0.0 : number);
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string rounded_text(double number, int digits) {
  constexpr double kWhole = 1e3;
  const double size = std::fabs(number);
  if (!(size < kWhole)) return count_text(number);
  std::string text = fmt::format("{:.{}g}", number, digits);
  return text.find('e') == text.npos || size < 1 ? text : count_text(std::round(number));
}

std::string noun_of(double number, std::string_view noun, std::string_view plural) {
  if (count_text(number) == "1") return std::string(noun);
  if (!plural.empty()) return std::string(plural);
  const auto ends = [&](std::string_view ending) { return noun.ends_with(ending); };
  constexpr std::string_view kVowels = "aeiou";
  if (ends("y") && noun.size() > 1 && kVowels.find(noun[noun.size() - 2]) == kVowels.npos)
    return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  const bool hisses = ends("s") || ends("x") || ends("sh") || (ends("ch") && !ends("epoch"));
  return std::string(noun) + (hisses ? "es" : "s");
}

std::string counted(double number, std::string_view noun, std::string_view plural) {
  return count_text(number) + ' ' + noun_of(number, noun, plural);
}

std::string first_and_count(std::span<const std::string> texts, std::string_view noun) {
  if (texts.size() < 2) return texts.empty() ? "" : texts.front();
  return fmt::format("{} (and {})", texts.front(),
                     counted(texts.size() - 1, fmt::format("more {}", noun)));
}

}  // namespace strata
