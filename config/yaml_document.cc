#include "config/yaml_document.h"

#include <yaml-cpp/eventhandler.h>

#include <sstream>

#include "base/error.h"

namespace strata::config {
namespace {

// Skips the events of a document.
class Skipper : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;

  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, Anchor) override {}
  void OnAlias(const Mark&, Anchor) override {}
  void OnScalar(const Mark&, const std::string&, Anchor, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnMapEnd() override {}
};

// YAML::Load reads one document and ignores everything after it, such as a second document or a
// stray character. (YAML::LoadAll does not end on some stray characters.)
void check_single_document(const std::string& text, const std::string& source) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Skipper skipper;
  if (parser.HandleNextDocument(skipper) && parser.HandleNextDocument(skipper)) {
    fail(
        "{}: has text after the end of its YAML document; keep one document, and quote special "
        "characters",
        source);
  }
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& source) {
  try {
    check_single_document(text, source);
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail("{}:{}: not valid YAML: {}", source, error.mark.line + 1, error.msg);
  }
}

}  // namespace strata::config
