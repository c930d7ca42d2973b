#include "config/yaml_document.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace strata::config {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_yaml(text, "run.yaml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr char kGoesOn[] =
    "run.yaml: has text after the end of its YAML document; keep one document, and quote special "
    "characters";

TEST(YamlDocument, OneDocumentIsRead) {
  EXPECT_EQ(parse_yaml("a: 1\n", "")["a"].Scalar(), "1");
  EXPECT_EQ(parse_yaml("---\na: 1\n...\n", "")["a"].Scalar(), "1");
  EXPECT_TRUE(parse_yaml("# nothing\n", "").IsNull());
}

TEST(YamlDocument, ASecondDocumentIsAnError) { EXPECT_EQ(error_of("a: 1\n---\nb: 1\n"), kGoesOn); }

// The parser never gets past such a comma.
TEST(YamlDocument, AStrayCharacterIsAnErrorAndDoesNotHang) {
  EXPECT_EQ(error_of(" ,a:\n  b: 1\n"), kGoesOn);
}

TEST(YamlDocument, InvalidYamlIsAnErrorWithItsLine) {
  EXPECT_EQ(error_of("a: 1\nb: [1\n").substr(0, 28), "run.yaml:3: not valid YAML: ");
  EXPECT_NE(error_of(std::string(5000, '[')), "");
}

}  // namespace
}  // namespace strata::config
