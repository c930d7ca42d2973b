// Which parts of an event a fragment may read, so that no other part is built for it. `v`: the
// event's dict; `ll`: its line, with attributes such as key and timestamp.
#pragma once

#include "compliance/language/parser/rule_tree.h"

namespace strata::compliance {

struct RuleUses {
  bool line = false;   // `ll`, any attribute
  bool value = false;  // v['value']
  bool whole = false;  // more of `v`, ll.value, or `ll` as a whole
};

// Adds what `fragment` may look at.
void add_uses(const Fragment& fragment, RuleUses& uses);

}  // namespace strata::compliance
