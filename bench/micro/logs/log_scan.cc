#include "bench/micro/data/synthetic_text.h"
#include "bench/micro/micro.h"
#include "mllog/log_reader.h"

namespace strata::bench::micro {
namespace {

// Measures reading the events of a log in memory.
void log_scan(benchmark::State& state) {
  const std::string text = synthetic_log(state.range(0));
  uint64_t events = 0;
  for (auto _ : state) {
    events = mllog::LogReader::from_text(text, "log").event_count();
    benchmark::DoNotOptimize(events);
  }
  count_work(state, 0, static_cast<double>(text.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(events));
}

}  // namespace

void add_log_scan() {
  benchmark::RegisterBenchmark("log_scan", log_scan)
      ->ArgName("evaluations")
      ->Arg(10)
      ->Arg(1000)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace strata::bench::micro
