#include "drawing/label_spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace strata::drawing {
namespace {

// Neighbours at their least distance.
struct Block {
  double sum;  // sum of wanted places, each minus its label's distance to the block's first
  size_t labels;

  double place() const { return sum / static_cast<double>(labels); }
};

}  // namespace

size_t labels_that_fit(double spacing, double low, double high) {
  // Ignores a space that is missing only by rounding.
  const double spaces = std::floor((high - low) / spacing * (1 + 1e-9));
  return spaces >= 0 ? static_cast<size_t>(std::min(spaces, 1e15)) + 1 : 0;
}

std::vector<double> spread_labels(const std::vector<double>& wanted, double spacing, double low,
                                  double high) {
  const size_t fit = labels_that_fit(spacing, low, high);
  if (wanted.size() > fit) {
    fail("{} labels, {} apart, do not fit from {} to {}", wanted.size(), spacing, low, high);
  }
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<Block> blocks;
  for (size_t i = 0; i < order.size(); ++i) {
    blocks.push_back({wanted[order[i]] - spacing * static_cast<double>(i), 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].place() >= blocks.back().place()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().labels += last.labels;
    }
  }
  std::vector<double> places(wanted.size());
  const double last_first = high - spacing * (static_cast<double>(wanted.size()) - 1);
  size_t i = 0;
  for (const Block& block : blocks) {
    const double first = std::max(low, std::min(block.place(), last_first));
    for (size_t end = i + block.labels; i < end; ++i) {
      places[order[i]] = first + spacing * static_cast<double>(i);
    }
  }
  return places;
}

}  // namespace strata::drawing
