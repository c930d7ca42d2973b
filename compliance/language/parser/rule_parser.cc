#include "compliance/language/parser/rule_parser.h"

#include <utility>

#include "compliance/language/parser/fragment_parser.h"

namespace strata::compliance {

Fragment compile_expression(std::string_view code, FragmentPlace place,
                            std::shared_ptr<Locals> locals) {
  return FragmentParser(code, place, std::move(locals)).expression_fragment();
}

Fragment compile_statements(std::string_view code, FragmentPlace place,
                            std::shared_ptr<Locals> locals) {
  return FragmentParser(code, place, std::move(locals)).statements_fragment();
}

}  // namespace strata::compliance
