#include "results/plots/plot_parts.h"

#include "base/text/trim.h"

namespace strata::results {

std::string accelerators_in_short(std::optional<int64_t> count, const std::string& model) {
  constexpr size_t kLong = 12, kLongest = 16;
  if (!count) return "";
  std::string_view name = trimmed(std::string_view(model).substr(0, model.find('(')), " ");
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

}  // namespace strata::results
