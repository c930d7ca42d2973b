#include "results/plots/plot_parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "results/plots/gnuplot.h"

namespace strata::results {
namespace {

// Whether a character begins here, in UTF-8.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Where the character of this number begins.
size_t character_at(std::string_view text, size_t number) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && number-- == 0) return i;
  }
  return text.size();
}

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string_view without_space_around(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::vector<size_t> colour_numbers(const std::vector<NamedSystem>& systems) {
  std::set<std::string> submitters;
  for (const NamedSystem& system : systems) submitters.insert(system.submitter);
  const bool by_submitter = systems.size() > std::size(kColours) && submitters.size() > 1;
  std::map<std::string, size_t> number_of;
  std::vector<size_t> numbers;
  for (const NamedSystem& system : systems) {
    const std::string& group = by_submitter ? system.submitter : system.name;
    numbers.push_back(number_of.emplace(group, number_of.size()).first->second);
  }
  return numbers;
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most) {
  std::map<std::string, std::set<std::string>> of_short;
  for (const std::string& name : names) of_short[shortened(name, most)].insert(name);
  std::vector<std::string> apart;
  for (const std::string& name : names) {
    const std::string one = shortened(name, most);
    apart.push_back(of_short[one].size() > 1 ? name : one);
  }
  return apart;
}

double width_of(std::string_view text) {
  constexpr double kCharacter = 0.075;
  return kCharacter * static_cast<double>(characters_in(text));
}

std::string shortened(std::string_view text, size_t most) {
  const std::string plain = plain_text(text);
  const size_t characters = characters_in(plain);
  if (characters <= most) return plain;
  const size_t kept = most - 3, last = kept / 2, first = kept - last;
  return plain.substr(0, character_at(plain, first)) + "..." +
         plain.substr(character_at(plain, characters - last));
}

std::string accelerators_in_short(std::optional<int64_t> count, const std::string& model) {
  constexpr size_t kLong = 12, kLongest = 16;
  if (!count) return "";
  std::string_view name = without_space_around(std::string_view(model).substr(0, model.find('(')));
  for (const std::string_view maker : {"NVIDIA ", "AMD ", "Intel ", "Graphcore ", "Habana "}) {
    if (name.starts_with(maker)) name = without_space_around(name.substr(maker.size()));
  }
  // After it come form and memory.
  if (characters_in(name) > kLong) name = name.substr(0, name.find('-'));
  if (name.empty()) return "";
  return fmt::format("{} {}", *count, shortened(name, kLongest));
}

std::string tics_at(const std::vector<double>& numbers) {
  std::string tics;
  for (const double number : numbers) {
    tics += fmt::format("{}'{}' {:.10g}", tics.empty() ? "" : ", ", short_number(number), number);
  }
  return '(' + tics + ')';
}

std::string round_in_short(const std::string& round) {
  if (round.empty()) return "";
  return 'v' + (round.ends_with(".0") ? round.substr(0, round.size() - 2) : round);
}

std::string counted(size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace strata::results
