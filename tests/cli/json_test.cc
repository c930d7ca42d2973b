// Checks the JSON of train, eval, data and bench against docs/schemas/.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/small_benchmark.h"
#include "tests/support/json_schema.h"

namespace strata::cli {
namespace {

using ::strata::testing_support::expect_schema;

class Json : public SmallBenchmark {
 protected:
  void expect_fits(const std::string& schema, const std::vector<std::string>& arguments,
                   int ranks = 1) {
    const ProcessResult printed = strata(arguments, ranks);
    EXPECT_LE(printed.exit_code, 1) << printed.err;
    expect_schema(schema, printed.out);
  }
  void expect_bench_fits(const std::string& name, const std::vector<std::string>& more,
                         int ranks = 1) {
    std::vector<std::string> arguments = {"bench", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back("--json");
    expect_fits("bench-" + name, arguments, ranks);
  }
};

TEST_F(Json, TrainAndEvalFitTheirSchemas) {
  expect_fits("train", train({"--json", "--set", "log.save_checkpoint=true"}));
  expect_fits("eval", {"eval", "--config", path("run.yaml"), "--json", "--checkpoint",
                       result("result_0.safetensors").string()});
}

TEST_F(Json, DataCommandsFitTheirSchemas) {
  const std::string train = path("data/train.hdf5"), eval = path("data/eval.hdf5");
  const std::vector<std::string> prepare = {"data",
                                            "prepare",
                                            "--text",
                                            path("text.txt"),
                                            "--vocab",
                                            path("vocab.txt"),
                                            "--out",
                                            path("again"),
                                            "--eval-documents",
                                            "2",
                                            "--json"};
  expect_fits("data-prepare", prepare);
  expect_fits("data-prepare", prepare);
  expect_fits("data-info", {"data", "info", train, "--json"});
  expect_fits("data-show", {"data", "show", eval, "0", "--vocab", path("vocab.txt"), "--json"});
  expect_fits("data-compare", {"data", "compare", train, eval, "--json"});
  expect_fits("data-shapes", {"data", "shapes", train, "--json"});
  expect_fits("data-convert", {"data", "convert", train, "--out", path("fixed.hdf5"), "--format",
                               "mlperf-fixed", "--json"});
  expect_fits("data-index", {"data", "index", path("fixed.hdf5"), "--json"});
}

TEST_F(Json, BenchCommandsFitTheirSchemas) {
  const std::string tiny = STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml";
  expect_bench_fits("step", {"--config", tiny, "--steps", "1", "--tokens", "100"});
  expect_bench_fits("overlap", {"--config", tiny, "--steps", "1", "--tokens", "100"}, 2);
  expect_bench_fits(
      "schedule",
      {"--config", tiny, "--steps", "1", "--tokens", "100", "--sleep", "1000", "--set",
       "batch.gradient_accumulation_steps=2", "--set", "clip.mode=after_allreduce"},
      2);
  expect_bench_fits("plan",
                    {"--config", tiny, "--steps", "1", "--tokens", "300", "--sleep", "20",
                     "--accumulation", "2", "--gbits", "1"},
                    2);
  expect_bench_fits(
      "simulate", {"--config", tiny, "--ranks", "2,1024", "--gflops", "100", "--network",
                   "1e-6,1e9", "--channels", "4", "--channel-gbytes", "20", "--processors", "100"});
  expect_bench_fits("balance", {"--ranks", "2", "--steps", "2", "--samples", "1000"});
  expect_bench_fits("cost", {"--config", path("run.yaml"), "--rounds", "1", "--tokens", "256"});
  expect_bench_fits("machine", {"--models", "tiny", "--tokens", "100,200", "--steps", "1",
                                "--rounds", "1", "--threads", "1"});
  expect_bench_fits("operations", {"--config", tiny, "--steps", "1", "--tokens", "100"});
  expect_bench_fits("optimizer", {"--model", "tiny", "--rounds", "1"});
  expect_bench_fits("accumulation", {"--trials", "2"});
  expect_fits("bench-accumulation-evaluation",
              {"bench", "accumulation", "--config", path("run.yaml"), "--samples", "2", "--json"});
  expect_bench_fits("layer_drop", {"--config", tiny, "--steps", "2", "--tokens", "100", "--set",
                                   "model.norm=pre", "--set", "layer_drop.theta=0.5"});
  expect_bench_fits("start", {"--config", tiny, "--samples", "1000000", "--ranks", "8"});
  expect_fits("bench-step-explain", {"bench", "step", "--config", tiny, "--explain", "--json"});
}

}  // namespace
}  // namespace strata::cli
