#include "compliance/package/section.h"

#include <algorithm>

namespace strata::compliance {

bool all_passed(const std::vector<Section>& sections) {
  return std::all_of(sections.begin(), sections.end(),
                     [](const Section& section) { return section.passed(); });
}

}  // namespace strata::compliance
