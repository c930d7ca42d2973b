// Checks the tools' JSON against docs/schemas/.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/process.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/submission.h"
#include "tests/support/built_files.h"
#include "tests/support/json_schema.h"

namespace strata::cli {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing_support::expect_schema;

TEST(JsonSchemas, CanBeChecked) {
  if (!testing_support::has_json_schema()) GTEST_SKIP() << testing_support::kNoJsonSchema;
}

// Two submissions whose contents give every field a value, or leave it empty.
class ToolsJson : public ::testing::Test {
 protected:
  ToolsJson() {
    for (int i = 0; i < 3; ++i) {
      BertLog log = BertLog::passing("closed");
      log.at("run_stop").time_ms += 1000 * i;
      write("Acme/results/good/bert/result_" + std::to_string(i) + ".txt", log.text());
      log.without("eval_accuracy");
      write("Bolt/results/bad/bert/result_" + std::to_string(i) + ".txt",
            i == 0 ? "no log" : log.text());
    }
    write("Acme/results/good/bert/power/result_0/node_0.txt", "no readings");
    write("Acme/systems/good.json", R"({"division": "closed", "number_of_nodes": "1",
        "accelerators_per_node": 8})");
    write("Bolt/systems/other.json", "{");
  }
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }

  // Allows exit code 1, which means that a check failed.
  void expect_fits(const std::string& schema, const std::vector<std::string>& words) {
    std::vector<std::string> command = {testing_support::strata_program()};
    for (const std::string& word : words) {
      const bool is_path = word.starts_with("Acme") || word.starts_with("Bolt") || word == ".";
      command.push_back(is_path ? (folder_.path() / word).string() : word);
    }
    const ProcessResult printed = run(command, {}, std::chrono::seconds(60));
    EXPECT_LE(printed.exit_code, 1) << printed.err;
    expect_schema(schema, printed.out);
  }

  ::strata::testing::TemporaryFolder folder_;
};

TEST_F(ToolsJson, ChecksFitTheirSchemas) {
  expect_fits("check-log", {"check", "log", "Acme", "Bolt", "--json", "--ruleset", "2.1.0"});
  expect_fits("check-package", {"check", "package", "Bolt", "--json", "--ruleset", "2.1.0"});
  expect_fits("check-package", {"check", "round", ".", "--json", "--ruleset", "2.1.0"});
  for (const char* check : {"rcp", "seeds", "power", "repo"}) {
    expect_fits("check-sections", {"check", check, "Acme", "--json"});
  }
  expect_fits("check-sections",
              {"check", "system", "Acme/systems/good.json", "--json", "--ruleset", "2.1.0"});
}

TEST_F(ToolsJson, ResultsFitTheirSchemas) {
  expect_fits("score", {"score", ".", "--json", "--ruleset", "2.1.0"});
  expect_fits("plot-curves", {"plot", "curves", "Acme", "Bolt", "--json"});
  expect_fits("compare", {"compare", "Acme", "Acme", "Bolt", "--json", "--ruleset", "2.1.0"});
}

TEST_F(ToolsJson, PlansFitTheirSchema) {
  write("Acme/small.json", R"({"ranks": 1, "sequences_per_step": 2, "seconds": {"step": 0.026},
                               "lengths": [[1, 2]]})");
  write("Acme/large.json", R"({"ranks": 1, "sequences_per_step": 9, "seconds": {"step": 0.047},
                               "lengths": [[1, 2, 3, 4, 5, 6, 7, 8, 9]]})");
  expect_fits("plan",
              {"plan", "--measured", "Acme/small.json", "Acme/large.json", "--ranks", "8",
               "--batch", "80", "--search", "--memory", "100", "--network", "0,1e9", "--json"});
}

TEST_F(ToolsJson, PackagesFitTheirSchemas) {
  ::strata::testing::write_submission(folder_.path(), "Acme", "good", 3);
  ::strata::testing::write_submission(folder_.path() / "Bolt/old", "Acme", "good", 3);
  write("Acme/benchmarks/bert/implementations/x/run.sh", "run");
  write("Bolt/old/Acme/benchmarks/bert/implementations/x/start.sh", "run");
  write("Bolt/old/Acme/systems/good.json", R"({"system_name": "other"})");
  expect_fits("package-preview", {"package", "preview", "Acme", "--json", "--ruleset", "5.0.0"});
  expect_fits("package-preview",
              {"package", "preview", "Acme", "--json", "--detailed", "--ruleset", "5.0.0"});
  expect_fits("package-resubmit-check",
              {"package", "resubmit-check", "Acme", "Bolt/old", "--json"});
  expect_fits("package-merge", {"package", "merge", "Acme", "--output", "Bolt/round", "--json"});
  const std::string summary = (folder_.path() / "summary.json").string();
  run({testing_support::strata_program(), "score", (folder_.path() / "Acme/results").string(),
       "--ruleset", "5.0.0", "--summary", summary},
      {}, std::chrono::seconds(60));
  expect_schema("score-summary", read_file(summary));
}

TEST_F(ToolsJson, ReferencePointsFitTheirSchema) {
  expect_fits("plot-rcp", {"plot", "rcp", "--json", "--interpolate", "--rcp", "built-in"});
  expect_fits("plot-rcp", {"plot", "rcp", "bert", "--json", "--bootstrap", "448", "--rcp",
                           "built-in", "--ruleset", "2.1"});
}

// A schema that accepts anything would let the other tests pass.
TEST(JsonSchemas, RefuseOtherDocuments) {
  if (!testing_support::has_json_schema()) GTEST_SKIP() << testing_support::kNoJsonSchema;
  std::set<std::string> schemas;
  for (const auto& file : list_directory(STRATA_SOURCE_DIR "/docs/schemas")) {
    if (file.extension() == ".json") schemas.insert(file.string());
  }
  EXPECT_GE(schemas.size(), 26u);
  const std::string empty =
      ::testing::TempDir() + "strata.nothing." + std::to_string(::getpid()) + ".json";
  write_file_atomically(empty, R"({"version": 1, "no_key_of_ours": 1})");
  for (const std::string& schema : schemas) {
    EXPECT_NE(testing_support::run_command("/usr/bin/python3 " STRATA_SOURCE_DIR
                                           "/tests/support/json_schema.py " +
                                           schema + " " + empty)
                  .status,
              0)
        << schema;
  }
  std::filesystem::remove(empty);
}

}  // namespace
}  // namespace strata::cli
