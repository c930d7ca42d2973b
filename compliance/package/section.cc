#include "compliance/package/section.h"

namespace strata::compliance {

Outcome outcome_of(const std::vector<Section>& sections) {
  Outcome outcome = Outcome::kPassed;
  for (const Section& section : sections) outcome = worse(outcome, section.outcome());
  return outcome;
}

}  // namespace strata::compliance
