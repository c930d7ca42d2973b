#include "base/text/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace strata {

size_t edit_distance(std::string_view a, std::string_view b, size_t most) {
  constexpr size_t kLongest = 200;
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > most || b.size() > kLongest) return most + 1;
  std::vector<size_t> row(a.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t j = 1; j <= b.size(); ++j) {
    size_t diagonal = row[0];
    row[0] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({changed, row[i] + 1, row[i - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace strata
