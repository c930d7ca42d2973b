#include <algorithm>

#include "base/timing.h"
#include "bench/micro/micro.h"
#include "loadbalance/plans/batch_plan.h"

namespace strata::bench::micro {
namespace {

// Plans one step, as every rank does. The counters of a new plan: `first` is its first step, which
// touches memory that later steps touch again; `slowest` is the longest of the others.
void plan_step(benchmark::State& state, const std::string& strategy) {
  const auto histogram = loadbalance::in_proportion(loadbalance::mlperf_wikipedia_histogram(),
                                                    static_cast<uint64_t>(state.range(0)));
  const loadbalance::PlanOptions options{.strategy = strategy,
                                         .ranks = static_cast<int>(state.range(1)),
                                         .batch_per_rank = static_cast<int>(state.range(2))};
  const auto plan = loadbalance::make_batch_plan(options, histogram);
  double first = 0, slowest = 0;
  bool begun = false;
  for (auto _ : state) {
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(plan->next_step().data());
    (begun ? slowest : first) = std::max(begun ? slowest : first, seconds_since(begin));
    begun = true;
  }
  state.counters["first"] = first;
  state.counters["slowest"] = slowest;
  state.SetItemsProcessed(state.iterations() * state.range(1) * state.range(2));
}

}  // namespace

void add_planner() {
  for (const std::string& strategy : loadbalance::strategies()) {
    benchmark::RegisterBenchmark(("plan_step/" + strategy).c_str(), plan_step, strategy)
        ->ArgNames({"samples", "ranks", "batch"})
        ->Args({156'725'653, 8, 56})
        ->Args({156'725'653, 1024, 2})
        ->Args({156'725'653, 1024, 16})
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace strata::bench::micro
