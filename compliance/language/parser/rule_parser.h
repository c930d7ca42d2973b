// Compiles fragments of rule code.
#pragma once

#include <memory>
#include <string_view>

#include "compliance/language/parser/rule_lexer.h"
#include "compliance/language/parser/rule_tree.h"

namespace strata::compliance {

// Where a fragment stands decides which host variables it may name.
enum class FragmentPlace {
  kLine,   // s, v, ll
  kBegin,  // s, loglines
  kEnd,    // s
};

// Both throw SyntaxFault if the code is not in the language, so that nothing unsupported passes
// silently. `locals` may be shared by fragments that see each other's assignments.
Fragment compile_expression(std::string_view code, FragmentPlace place,
                            std::shared_ptr<Locals> locals);
Fragment compile_statements(std::string_view code, FragmentPlace place,
                            std::shared_ptr<Locals> locals);

}  // namespace strata::compliance
