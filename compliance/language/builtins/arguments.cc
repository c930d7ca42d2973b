#include "compliance/language/builtins/arguments.h"

#include <fmt/format.h>

#include "base/text/counts.h"

namespace strata::compliance::builtins {

void expect_count(const Arguments& arguments, size_t least, size_t most, std::string_view what) {
  if (arguments.size() < least || arguments.size() > most) {
    throw RuleError(fmt::format("{}: {} given", what, counted(arguments.size(), "argument")));
  }
}

void spend_texts(const Arguments& arguments, BuiltinHost& host) {
  for (const Value& argument : arguments) {
    if (argument.kind() == Kind::kStr || argument.kind() == Kind::kBigInt)
      host.heap().spend_text(argument.text().size());
  }
}

}  // namespace strata::compliance::builtins
