#include "drawing/owner.h"

#include <map>
#include <set>

namespace strata::drawing {

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
