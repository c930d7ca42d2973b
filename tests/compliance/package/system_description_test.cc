#include "compliance/package/system_description.h"

#include "tests/compliance/package/small_package.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

TEST(SystemDescription, FieldsAndAvailabilityAreChecked) {
  const auto check_text = [](const std::string& json, const char* ruleset = "5.0.0") {
    return check_system_text(json, "x.json", "training", ruleset);
  };
  EXPECT_TRUE(check_text(system_description("open")).passed());
  EXPECT_TRUE(check_text(" \n" + system_description("open") + " \n").passed());
  EXPECT_EQ(check_text("{}").errors.size(), 33u);
  EXPECT_FALSE(check_text("[]").passed());
  EXPECT_FALSE(check_text("{\"a\": 1,}").passed());
  EXPECT_FALSE(check_text("").passed());
  for (const char* status : {"Available on-premise", "Available cloud", "Preview",
                             "Research, Development, or Internal (RDI)"}) {
    EXPECT_TRUE(check_text(system_description("open", status)).passed()) << status;
  }
  EXPECT_FALSE(check_text(system_description("open", "onprem")).passed());
  EXPECT_FALSE(check_text(system_description("open", "")).passed());
  EXPECT_TRUE(check_text(system_description("open", "onprem"), "3.1.0").passed());
  std::string number = system_description("open");
  number.replace(number.find("\"framework\": \"2\""), 16, "\"framework\": 1");
  EXPECT_TRUE(check_text(number).passed());
  EXPECT_EQ(check_text(number).warnings.size(), 1u);
}

TEST(SystemDescription, ADescriptionThatIsTooLargeIsOneError) {
  const TemporaryFolder folder;
  // Many small values take far more memory than text.
  std::string values = "[[]";
  for (int i = 0; i < 4'000'000; ++i) values += ",[]";
  const Section in_memory =
      check_system_text("{\"a\": " + values + "]}", "x.json", "training", "5.0.0");
  EXPECT_EQ(in_memory.errors.size(), 1u);
  folder.write("system.json", system_description("open") + std::string(2 << 20, ' '));
  const Section on_disk =
      check_system_description(folder.path() / "system.json", "training", "5.0.0");
  ASSERT_EQ(on_disk.errors.size(), 1u);
  EXPECT_THAT(on_disk.errors[0], HasSubstr("too many"));
}

TEST(SystemDescription, BytesThatAreNotUtf8AreWarnedOf) {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& name) {
    std::string text = system_description("open");
    text.replace(text.find("\"framework\": \"2\""), 16, "\"framework\": \"" + name + "\"");
    folder.write("system.json", text);
    return check_system_description(folder.path() / "system.json", "training", "5.0.0")
        .warnings.size();
  };
  // The first and the last of every row of RFC 3629's table, and their neighbours.
  for (const char* good :
       {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80",
        "\xec\xbf\xbf", "\xed\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf0\xbf\xbf\xbf", "\xf1\x80\x80\x80", "\xf3\xbf\xbf\xbf",
        "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(warnings(good), 0u) << good;
  }
  for (const char* bad : {"\x80",
                          "\xbf",
                          "\xc0\x80",
                          "\xc1\xbf",
                          "\xc2",
                          "\xc2\x7f",
                          "\xc2\xc0",
                          "\xe0\x9f\xbf",
                          "\xe0\xa0",
                          "\xe1\x80",
                          "\xe1\x80\x7f",
                          "\xe1\x80\xc0",
                          "\xed\xa0\x80",
                          "\xed\xbf\xbf",
                          "\xf0\x8f\xbf\xbf",
                          "\xf0\x90\x80",
                          "\xf1\x80\x80\x7f",
                          "\xf1\x80\x80\xc0",
                          "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80",
                          "\xff"}) {
    EXPECT_EQ(warnings(bad), 1u) << ::testing::PrintToString(bad);
  }
}

}  // namespace
}  // namespace strata::compliance
