#include "report/runs/settings.h"

#include "base/error.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::report {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;

Settings of_log(BertLog log) {
  Settings settings;
  add_log_settings(mllog::LogReader::from_text(log.text(), "log"), settings);
  return settings;
}

TEST(LogSettings, AreReadFromEventsOfTheLog) {
  BertLog log = BertLog::passing();
  log.set("opt_base_learning_rate", "0.00035").append({"opt_name", "\"lamb\""});
  const Settings settings = of_log(log);
  EXPECT_EQ(settings.at("log: opt_base_learning_rate"), "0.00035");
  EXPECT_EQ(settings.at("log: opt_name"), "lamb");
  for (const char* key : {"seed", "eval_accuracy", "submission_org", "run_start", "cache_clear"}) {
    EXPECT_FALSE(settings.contains(std::string("log: ") + key)) << key;
  }
}

TEST(LogSettings, ExcludeKeysThatChangeInALog) {
  BertLog log = BertLog::passing();
  log.append({"tokens_so_far", "1"}).append({"tokens_so_far", "2"}).append({"twice", "3"});
  log.append({"twice", "3"});
  const Settings settings = of_log(log);
  EXPECT_FALSE(settings.contains("log: tokens_so_far"));
  EXPECT_EQ(settings.at("log: twice"), "3");
}

TEST(LogSettings, AreMarkedIfTheyVaryBetweenRuns) {
  Settings settings;
  for (const char* value : {"1", "1", "2"}) add_setting(settings, "log: x", value);
  EXPECT_EQ(settings.at("log: x"), "varies");
}

TEST(Configuration, IsFlattenedByTheNamesOfKeys) {
  Settings settings;
  add_configuration_text(
      "a:\n  b: 1\n  list: [x, {y: 2}]\nname: \"two words\"\nnone:\nbase: &b 5\nuse: *b\n",
      "x.yaml", settings);
  EXPECT_EQ(settings, (Settings{{"configuration: a.b", "1"},
                                {"configuration: a.list.0", "x"},
                                {"configuration: a.list.1.y", "2"},
                                {"configuration: base", "5"},
                                {"configuration: name", "two words"},
                                {"configuration: none", "null"},
                                {"configuration: use", "(alias)"}}));
}

TEST(Configuration, AliasesDoNotMultiply) {
  std::string yaml = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  Settings settings;
  add_configuration_text(yaml, "x.yaml", settings);
  EXPECT_EQ(settings.size(), 120u);
}

TEST(Configuration, InvalidYamlIsNamed) {
  Settings settings;
  EXPECT_THAT(
      testing_support::error_of([&] { add_configuration_text("a: [1", "x.yaml", settings); }),
      HasSubstr("x.yaml: line"));
  EXPECT_THROW(add_configuration_text(std::string(100'000, '['), "x.yaml", settings), Error);
}

TEST(SystemDescription, GivesItsPlainFields) {
  const TemporaryFolder folder;
  Settings settings;
  add_system_description(folder.path() / "none.json", settings);
  add_system_description(folder.write("bad.json", "{"), settings);
  EXPECT_TRUE(settings.empty());
  add_system_description(
      folder.write("x.json", R"({"number_of_nodes": 2, "cpu": "X", "list": [1], "none": null})"),
      settings);
  EXPECT_EQ(settings, (Settings{{"system: cpu", "X"}, {"system: number_of_nodes", "2"}}));
}

}  // namespace
}  // namespace strata::report
