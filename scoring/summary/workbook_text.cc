#include <fmt/format.h>

#include <algorithm>

#include "base/text/characters.h"
#include "scoring/summary/workbook.h"

namespace strata::scoring {
namespace {

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Finds "_xHHHH_", which a reader takes for a character.
bool begins_with_escape(std::string_view text) {
  return text.size() >= 7 && text.starts_with("_x") && text[6] == '_' &&
         std::all_of(text.begin() + 2, text.begin() + 6, is_hexadecimal);
}

}  // namespace

std::string workbook_text(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string escaped;
  for (std::string_view rest = valid; !rest.empty();) {
    const char first = rest.front();
    size_t taken = 1;
    if (begins_with_escape(rest)) {
      escaped += "_x005F_";  // the underscore itself
    } else if (static_cast<unsigned char>(first) < 0x20 && first != '\t' && first != '\n') {
      escaped += fmt::format("_x{:04X}_", static_cast<unsigned>(first));
    } else if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
      escaped += rest[2] == '\xbe' ? "_xFFFE_" : "_xFFFF_";
      taken = 3;
    } else {
      escaped += first;
    }
    rest.remove_prefix(taken);
  }
  return escaped;
}

}  // namespace strata::scoring
