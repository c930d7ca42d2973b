#include "drawing/owner.h"

#include <algorithm>
#include <map>
#include <set>

#include "drawing/text.h"

namespace strata::drawing {

std::string Owner::label(size_t most) const {
  constexpr size_t kLeast = 8;
  if (detail.empty()) return shortened(name, std::max(most, kLeast));
  if (name.empty()) return plain(detail);
  const std::string after = ", " + plain(detail);
  const size_t taken = characters_in(after);
  return shortened(name, std::max(most > taken ? most - taken : 0, kLeast)) + after;
}

std::vector<int> colours_for(const std::vector<NamedSystem>& systems) {
  std::set<std::string> submitters;
  for (const NamedSystem& system : systems) submitters.insert(system.submitter);
  const bool by_submitter = systems.size() > kColours && submitters.size() > 1;
  std::map<std::string, int> colour_of;
  std::vector<int> colours;
  for (const NamedSystem& system : systems) {
    const std::string& group = by_submitter ? system.submitter : system.name;
    const int next = static_cast<int>(colour_of.size());
    colours.push_back(colour_of.emplace(group, next < kColours ? next : -1).first->second);
  }
  return colours;
}

}  // namespace strata::drawing
