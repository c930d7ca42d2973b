// Runs every micro-benchmark for one iteration.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace strata::bench {
namespace {

using nlohmann::json;

std::vector<json> benchmarks(const std::vector<std::string>& options) {
  std::vector<std::string> command = {STRATA_MICRO, "--benchmark_format=json",
                                      "--benchmark_min_time=0.000001"};
  command.insert(command.end(), options.begin(), options.end());
  const cli::ProcessResult result = cli::run(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out)["benchmarks"];
}

std::string family_of(const json& benchmark) {
  const std::string name = benchmark["name"];
  return name.substr(0, name.find('/'));
}

TEST(MicroBenchmarks, EachRunsAndCountsItsWork) {
  // A counter that every benchmark of the family has.
  const std::map<std::string, std::string> families = {
      {"attention_forward", "flops_per_second"},
      {"attention_backward", "flops_per_second"},
      {"residual_layernorm_forward", "bytes_per_second"},
      {"residual_layernorm_backward", "bytes_per_second"},
      {"classifier_loss", "flops_per_second"},
      {"adam_update", "bytes_per_second"},
      {"lamb_update", "bytes_per_second"},
      {"bucket_clip", "bytes_per_second"},
      {"plan_step", "items_per_second"},
      {"random_weights", "items_per_second"},
      {"log_scan", "bytes_per_second"},
      {"rule_evaluation", "items_per_second"},
      {"rule_compilation", ""},
      {"wordpiece", "bytes_per_second"},
      {"make_instances", "items_per_second"},
      {"make_reference_instances", "items_per_second"},
      {"hdf5_read", "tokens_per_second"}};
  std::map<std::string, int> seen;
  for (const json& benchmark : benchmarks({})) {
    SCOPED_TRACE(benchmark.dump());
    EXPECT_FALSE(benchmark.value("error_occurred", false));
    EXPECT_EQ(benchmark["iterations"], 1);
    EXPECT_GT(benchmark["cpu_time"], 0);
    const auto family = families.find(family_of(benchmark));
    ASSERT_NE(family, families.end());
    ++seen[family->first];
    if (!family->second.empty()) {
      EXPECT_GT(benchmark[family->second], 0);
    }
  }
  EXPECT_EQ(seen.size(), families.size());
}

TEST(MicroBenchmarks, NamesHaveTheirShapes) {
  const auto found = benchmarks({"--benchmark_filter=^attention_forward/f32/length:512"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["name"], "attention_forward/f32/length:512/sequences:1/heads:16/head_size:64");
}

TEST(MicroBenchmarks, AnUnknownOptionIsRefused) {
  EXPECT_EQ(cli::run({STRATA_MICRO, "--fast"}).exit_code, 2);
}

}  // namespace
}  // namespace strata::bench
