#include "config/cost_file.h"

#include "base/error.h"
#include "base/files/files.h"
#include "config/yaml_document.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::config {
namespace {

class CostFile : public testing_support::TemporaryDirectory {
 protected:
  loadbalance::CostModel read(const std::string& yaml) {
    ConfigValue value;
    value.node = parse_yaml(yaml, "run.yaml");
    value.key = "cost";
    value.source = "run.yaml:3";
    value.base = directory_;
    return read_cost(value, "a cost model");
  }
  std::string error_of(const std::string& yaml) {
    try {
      read(yaml);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string file(const std::string& text) {
    write_file_atomically(directory_ / "cost.json", text);
    return (directory_ / "cost.json").string();
  }
};

TEST_F(CostFile, AutoIsTheDefault) {
  const loadbalance::CostModel cost = read("auto");
  EXPECT_EQ(cost.linear, loadbalance::CostModel{}.linear);
  EXPECT_EQ(cost.quadratic, loadbalance::CostModel{}.quadratic);
}

TEST_F(CostFile, TheConfigurationMayContainAModel) {
  const loadbalance::CostModel cost = read("{linear: 2e-5, quadratic: 0}");
  EXPECT_EQ(cost.linear, 2e-5);
  EXPECT_EQ(cost.quadratic, 0);
}

TEST_F(CostFile, AMeasuredFileIsReadRelativeToTheConfiguration) {
  file(
      R"({"device": "a \"cpu\"", "linear": 3e-05, "quadratic": 1.5e-08, "batches": [{"length": 4}]})");
  const loadbalance::CostModel cost = read("cost.json");
  EXPECT_EQ(cost.linear, 3e-5);
  EXPECT_EQ(cost.quadratic, 1.5e-8);
}

TEST_F(CostFile, WrongModelsAreNamed) {
  EXPECT_EQ(error_of("{linear: 1}"), "run.yaml:3: cost.quadratic: is missing; give a cost model");
  EXPECT_EQ(error_of("{linear: -1, quadratic: 1}"),
            "run.yaml:3: cost.linear: '-1' is not a number of at least 0");
  EXPECT_EQ(error_of("{linear: 1, quadratic: x}"),
            "run.yaml:3: cost.quadratic: 'x' is not a number of at least 0");
  EXPECT_EQ(error_of("{linear: 0, quadratic: 0}"),
            "run.yaml:3: cost: a section is not a cost model");
  EXPECT_EQ(error_of("{linear: 1, quadratic: 1, cubic: 1}"),
            "run.yaml:3: cost: a section is not a cost model");
  EXPECT_EQ(error_of("[1, 2]"), "run.yaml:3: cost: [1, 2] is not a cost model");
}

TEST_F(CostFile, WrongFilesAreNamed) {
  EXPECT_THAT(error_of("absent.json"), HasSubstr("absent.json"));
  const std::string path = file("{}");
  EXPECT_EQ(error_of("cost.json"), path +
                                       ": cost.linear: is missing; give a file that `strata bench "
                                       "cost` wrote");
  file("linear\n");
  EXPECT_EQ(error_of("cost.json"),
            path + ": cost: 'linear' is not a file that `strata bench cost` wrote");
}

}  // namespace
}  // namespace strata::config
