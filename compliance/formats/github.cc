#include <fmt/format.h>

#include <set>
#include <string>

#include "base/text/counts.h"
#include "compliance/formats/formats.h"

namespace strata::compliance {
namespace {

// Escapes for the runner: https://github.com/actions/toolkit, packages/core/src/command.ts.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += property ? "%3A" : ":";
        break;
      case ',':
        out += property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string github(const std::vector<Case>& cases) {
  std::string text;
  size_t errors = 0, warnings = 0;
  for (const Case& one : cases) {
    for (const Annotation& annotation : one.annotations) {
      ++(annotation.error ? errors : warnings);
      text += fmt::format(
          "::{} file={},{}title={}::{}\n", annotation.error ? "error" : "warning",
          escaped(plain_text((annotation.path.empty() ? one.path : annotation.path).string()),
                  true),
          annotation.line > 0 ? fmt::format("line={},", annotation.line) : "",
          escaped(annotation.id, true), escaped(annotation.message, false));
    }
  }
  std::set<std::string> reasons;
  for (const Case& one : cases) {
    if (one.outcome != Outcome::kNotJudged || !reasons.insert(one.reason).second) continue;
    text += fmt::format("::notice file={},title=not judged::{}\n", escaped(one.path.string(), true),
                        escaped(one.reason, false));
  }
  return text + fmt::format("{}, {} in {}\n", counted(errors, "error"),
                            counted(warnings, "warning"), counted(cases.size(), "check"));
}

}  // namespace strata::compliance
