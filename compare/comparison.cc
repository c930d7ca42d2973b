#include "compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace strata::compare {

std::optional<double> Quantity::difference() const {
  const std::optional<double> from = base.center(), to = other.center();
  if (!from || !to || *from <= 0) return std::nullopt;
  const double change = *to / *from - 1;
  return std::isfinite(change) ? std::optional(change) : std::nullopt;
}

std::optional<double> Quantity::worse_by() const {
  const std::optional<double> change = difference();
  if (!change || better == Better::kNeither) return std::nullopt;
  return better == Better::kLower ? *change : -*change;
}

std::optional<double> Quantity::p() const {
  constexpr size_t kLeastValues = 3;
  if (ratio) return ratio->p;
  if (!order || std::min(base.values.size(), other.values.size()) < kLeastValues) return {};
  return order->p;
}

Quantity make_quantity(std::string name, std::string unit, Better better, Sample base,
                       Sample other) {
  Quantity quantity{.name = std::move(name), .unit = std::move(unit), .better = better};
  quantity.ratio = test_ratio(base, other);
  quantity.order = mann_whitney(base.values, other.values);
  quantity.base = std::move(base);
  quantity.other = std::move(other);
  return quantity;
}

std::vector<const Quantity*> Comparison::worse_than(double share) const {
  constexpr double kSignificance = 0.05;
  const std::span judged =
      std::span(quantities)
          .first(judged_first ? std::min<size_t>(quantities.size(), 1) : quantities.size());
  std::vector<double> p;
  for (const Quantity& quantity : judged) {
    if (quantity.p()) p.push_back(*quantity.p());
  }
  const std::vector<double> adjusted = holm(p);
  std::vector<const Quantity*> worse;
  size_t tested = 0;
  for (const Quantity& quantity : judged) {
    const bool clear = !quantity.p() || adjusted[tested++] < kSignificance;
    if (clear && quantity.worse_by().value_or(0) > share) worse.push_back(&quantity);
  }
  return worse;
}

}  // namespace strata::compare
