#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "data/files/instance_file.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kGolden = STRATA_SOURCE_DIR "/tests/golden/";

json read_json(const std::string& path) { return json::parse(read_file(path)); }

// Compares the JSON of `strata eval` with PyTorch's.
void expect_equal(const json& printed, const json& golden, double loss_bound,
                  int64_t correct_bound) {
  EXPECT_EQ(printed["samples"], golden["samples"]);
  for (const char* head : {"masked_lm", "next_sentence"}) {
    const json &ours = printed[head], &theirs = golden[head];
    EXPECT_EQ(ours["total"], theirs["total"]) << head;
    EXPECT_NEAR(ours["correct"].get<double>(), theirs["correct"].get<double>(),
                static_cast<double>(correct_bound))
        << head;
    EXPECT_NEAR(ours["loss"].get<double>(), theirs["loss"].get<double>(), loss_bound) << head;
  }
  EXPECT_NEAR(
      printed["loss"].get<double>(),
      printed["masked_lm"]["loss"].get<double>() + printed["next_sentence"]["loss"].get<double>(),
      1e-12);
  EXPECT_NEAR(
      printed["masked_lm"]["accuracy"].get<double>(),
      printed["masked_lm"]["correct"].get<double>() / printed["masked_lm"]["total"].get<double>(),
      1e-12);
}

// Writes the golden tiny model and the samples of eval_step0_tiny.json to files.
class Eval : public SmallBenchmark {
 protected:
  Eval() {
    data::Instances instances;
    for (const json& sample : golden_["instances"]) {
      const auto append = [&](const char* key, std::vector<int32_t>& to) {
        for (const int32_t value : sample[key]) to.push_back(value);
      };
      append("tokens", instances.tokens);
      append("masked_positions", instances.masked_positions);
      append("masked_ids", instances.masked_ids);
      instances.token_offsets.push_back(instances.tokens.size());
      instances.masked_offsets.push_back(instances.masked_ids.size());
      instances.first_lengths.push_back(3);
      instances.next_sentence.push_back(sample["next_sentence"]);
    }
    data::InstanceFileInfo info;
    info.vocabulary_size = 40;
    info.max_length = 24;
    info.max_predictions = 8;
    data::write_instances(path("golden.hdf5"), instances, info);
  }

  std::vector<std::string> evaluate(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"eval",
                                       "--config",
                                       path("run.yaml"),
                                       "--set",
                                       "data.eval=" + path("golden.hdf5"),
                                       "--set",
                                       "model.config=" + kGolden + "bert/bert_tiny_config.json",
                                       "--set",
                                       "model.vocab=none",
                                       "--checkpoint",
                                       kGolden + "bert/bert_tiny.safetensors",
                                       "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  const json golden_ = read_json(kGolden + "bert/eval_step0_tiny.json");
};

TEST_F(Eval, MatchesPyTorch) {
  for (const char* micro_batch : {"1", "4", "64"}) {
    const ProcessResult evaluated =
        strata(evaluate({"--set", std::string("batch.micro_batch=") + micro_batch}));
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    expect_equal(json::parse(evaluated.out), golden_, 1e-5, 0);
  }
}

TEST_F(Eval, IsTheSameOverRanks) {
  for (const int ranks : {2, 3}) {
    const ProcessResult evaluated = strata(evaluate({}), ranks);
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    expect_equal(json::parse(evaluated.out), golden_, 1e-5, 0);
  }
}

TEST_F(Eval, IsExactInDouble) {
  const ProcessResult evaluated =
      strata(evaluate({"--set", "device.backend=reference", "--set", "model.precision=auto"}));
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  expect_equal(json::parse(evaluated.out), golden_, 1e-10, 0);
}

TEST_F(Eval, UsesTheFirstSamplesIfConfigured) {
  const ProcessResult evaluated = strata(evaluate({"--set", "data.eval_samples=7"}));
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const json printed = json::parse(evaluated.out);
  size_t masked = 0;
  for (size_t i = 0; i < 7; ++i) masked += golden_["instances"][i]["masked_ids"].size();
  EXPECT_EQ(printed["samples"], 7);
  EXPECT_EQ(printed["masked_lm"]["total"], masked);
}

TEST_F(Eval, PrintsTextAndNamesRandomWeights) {
  const ProcessResult evaluated = strata({"eval", "--config", path("run.yaml")});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_THAT(evaluated.err, HasSubstr("weights: random"));
  EXPECT_THAT(evaluated.out, HasSubstr("masked-LM accuracy"));
}

// Uses the quickstart's checkpoint and evaluation set, if they exist.
TEST(QuickstartEval, MatchesPyTorch) {
  const std::string cache = STRATA_SOURCE_DIR "/data-cache/";
  const std::string data = cache + "quickstart/eval.hdf5";
  if (!fs::exists(data) || !fs::exists(cache + "minilm/model.safetensors")) {
    GTEST_SKIP() << "data-cache/ is not there: scripts/data/prepare_quickstart_data.sh makes it";
  }
  const json golden = read_json(kGolden + "bert/eval_step0_quickstart.json");
  if (data::describe_instance_file(data).made_from != golden["made_from"].get<std::string>()) {
    FAIL() << data << " is made from other text or with other options than "
           << "tests/golden/bert/eval_step0_quickstart.json; where the recipe changed on purpose, "
           << "tests/golden/bert/eval_step0.py writes that anew";
  }
  const ProcessResult evaluated =
      run({kStrata, "eval", "--config", STRATA_SOURCE_DIR "/scripts/configs/quickstart.yaml",
           "--set", "model.precision=fp32", "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  // 0.1 % of the total.
  expect_equal(json::parse(evaluated.out), golden, 1e-4, 11);
  for (const char* lacking :
       {"cls/predictions/transform/dense/kernel", "cls/seq_relationship/output_weights"}) {
    EXPECT_THAT(evaluated.err, HasSubstr(lacking));
  }
}

}  // namespace
}  // namespace strata::cli
