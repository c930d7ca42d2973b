#include <fmt/format.h>

#include <map>

#include "compliance/formats/formats.h"

namespace strata::compliance {
namespace {

// Escapes text of an attribute or an element. Characters that XML 1.0 cannot hold become U+FFFD.
std::string escaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
        if (text.compare(i, 2, "\xef\xbf") == 0 && i + 2 < text.size() &&
            static_cast<unsigned char>(text[i + 2]) >= 0xbe) {
          out += "\xef\xbf\xbd";
          i += 2;
        } else {
          out += text[i];
        }
    }
  }
  return out;
}

std::string lines_of(const Case& one, bool errors) {
  std::string text;
  for (const Annotation& annotation : one.annotations) {
    if (annotation.error != errors) continue;
    if (!text.empty()) text += '\n';
    if (!annotation.path.empty() && annotation.path != one.path)
      text += plain_text(annotation.path.filename().string()) + ": ";
    if (annotation.line > 0) text += fmt::format("line {}: ", annotation.line);
    text += fmt::format("{} [{}]", annotation.message, annotation.id);
  }
  return text;
}

struct Counts {
  size_t all = 0, failed = 0, skipped = 0;

  void add(const Case& one) {
    ++all;
    failed += one.outcome == Outcome::kFailed;
    skipped += one.outcome == Outcome::kNotJudged;
  }
  std::string text() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", all, failed,
                       skipped);
  }
};

std::string case_text(const Case& one) {
  std::string text =
      fmt::format("  <testcase classname=\"{}\" name=\"{}\" file=\"{}\">\n", escaped(one.suite),
                  escaped(one.name), escaped(plain_text(one.path.string())));
  if (one.outcome == Outcome::kFailed) {
    const Annotation* first = nullptr;
    for (const Annotation& annotation : one.annotations) {
      if (annotation.error && first == nullptr) first = &annotation;
    }
    const std::string message = first == nullptr ? "" : first->message;
    text += fmt::format("   <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                        escaped(message.substr(0, message.find('\n'))),
                        escaped(first == nullptr ? "" : first->id), escaped(lines_of(one, true)));
  }
  if (one.outcome == Outcome::kNotJudged)
    text += fmt::format("   <skipped message=\"{}\"/>\n", escaped(one.reason));
  if (const std::string warnings = lines_of(one, false); !warnings.empty())
    text += fmt::format("   <system-out>{}</system-out>\n", escaped(warnings));
  return text + "  </testcase>\n";
}

}  // namespace

std::string junit(const std::vector<Case>& cases) {
  Counts all;
  std::vector<std::string> suites;  // in order of first appearance
  std::map<std::string, std::pair<Counts, std::string>> by_suite;
  for (const Case& one : cases) {
    const auto [suite, is_new] = by_suite.try_emplace(one.suite);
    if (is_new) suites.push_back(one.suite);
    all.add(one);
    suite->second.first.add(one);
    suite->second.second += case_text(one);
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"strata check\" {}>\n",
      all.text());
  for (const std::string& suite : suites) {
    const auto& [counts, body] = by_suite.at(suite);
    text += fmt::format(" <testsuite name=\"{}\" {}>\n{} </testsuite>\n", escaped(suite),
                        counts.text(), body);
  }
  return text + "</testsuites>\n";
}

}  // namespace strata::compliance
