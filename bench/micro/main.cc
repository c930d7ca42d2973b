// strata_micro takes Google Benchmark's options, such as --benchmark_filter=REGEX.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const auto add : {add_attention, add_layernorm, add_cross_entropy, add_adam, add_lamb,
                         add_bucket_clip, add_planner, add_random_weights, add_log_scan, add_rules,
                         add_wordpiece, add_instances, add_hdf5_read}) {
    add();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace strata::bench::micro

int main(int argc, char** argv) {
  try {
    return strata::bench::micro::run(argc, argv);
  } catch (const strata::Error& error) {
    fmt::print(stderr, "strata_micro: {}\n", error.what());
    return 2;
  }
}
