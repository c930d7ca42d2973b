// What a fragment may look at of the event it runs for, so that no more of the event is built.
#pragma once

#include "compliance/language/rule_tree.h"

namespace strata::compliance {

struct RuleUses {
  bool line = false;   // `ll`
  bool value = false;  // v['value']
  bool whole = false;  // anything else of `v`, also through `ll`
};

// Adds what `fragment` may look at.
void add_uses(const Fragment& fragment, RuleUses& uses);

}  // namespace strata::compliance
