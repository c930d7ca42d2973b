#include "compare/comparison.h"

#include <cmath>
#include <utility>

namespace strata::compare {

std::optional<double> Quantity::difference() const {
  const std::optional<double> from = base.center(), to = other.center();
  if (!from || !to || *from == 0) return std::nullopt;
  const double change = *to / *from - 1;
  return std::isfinite(change) ? std::optional(change) : std::nullopt;
}

std::optional<double> Quantity::worse_by() const {
  const std::optional<double> change = difference();
  if (!change || better == Better::kNeither) return std::nullopt;
  return better == Better::kLower ? *change : -*change;
}

bool Quantity::is_clear() const {
  if (interval) return interval->low > 0 || interval->high < 0;
  return difference().value_or(0) != 0;
}

Quantity make_quantity(std::string name, std::string unit, Better better, Sample base,
                       Sample other) {
  Quantity quantity{.name = std::move(name), .unit = std::move(unit), .better = better};
  quantity.interval = ratio_interval(base, other);
  quantity.test = mann_whitney(base.values, other.values);
  quantity.base = std::move(base);
  quantity.other = std::move(other);
  return quantity;
}

std::vector<const Quantity*> Comparison::worse_than(double share) const {
  std::vector<const Quantity*> worse;
  for (const Quantity& quantity : quantities) {
    if (quantity.is_clear() && quantity.worse_by().value_or(0) > share) worse.push_back(&quantity);
    if (judged_first) break;
  }
  return worse;
}

}  // namespace strata::compare
