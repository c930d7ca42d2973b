#include "base/files/files.h"
#include "config/run_config.h"
#include "config/run_config_keys.h"
#include "tests/support/matchers.h"

namespace strata::config {
namespace {

TEST(ConfigReference, TheDocumentIsUpToDate) {
  EXPECT_EQ(read_file(std::filesystem::path(STRATA_SOURCE_DIR) / "docs" / "config.md"),
            config_reference())
      << "docs/config.md is old; write it again with: strata train --describe-config > "
         "docs/config.md";
}

TEST(ConfigReference, EveryKeyIsThereWithADescription) {
  const std::string page = config_reference();
  for (const ConfigSection& section : config_sections()) {
    for (const ConfigKey& key : section.keys) {
      EXPECT_THAT(page, HasSubstr("| `" + key.name + "` | ")) << key.name;
      EXPECT_TRUE(key.description.ends_with('.')) << key.name;
    }
  }
}

}  // namespace
}  // namespace strata::config
