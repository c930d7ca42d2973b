#include "bench/micro/data/synthetic_text.h"
#include "bench/micro/micro.h"
#include "compliance/checks/check_log.h"

namespace strata::bench::micro {
namespace {

// Measures the verdict of all rules on a parsed log, with compiled rules.
void rule_evaluation(benchmark::State& state, const std::string& ruleset) {
  const auto log = mllog::LogReader::from_text(synthetic_log(state.range(0)), "log");
  compliance::RuleStore rules;
  const auto check = [&] { return compliance::check_log(log, rules, "training", ruleset); };
  if (const auto verdict = check(); !verdict.passed()) {
    state.SkipWithError(verdict.errors.empty() ? "the log is not judged"
                                               : describe(verdict.errors.front()).c_str());
  }
  for (auto _ : state) benchmark::DoNotOptimize(check().event_count);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(log.event_count()));
}

// Measures compiling rules from their text.
void rule_compilation(benchmark::State& state, const std::string& file) {
  for (auto _ : state) {
    compliance::RuleStore rules;
    benchmark::DoNotOptimize(rules.load(file).get());
  }
}

}  // namespace

void add_rules() {
  benchmark::RegisterBenchmark("rule_evaluation/2.1.0", rule_evaluation, "2.1.0")
      ->ArgName("evaluations")
      ->Arg(10)
      ->Arg(1000)
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("rule_compilation/2.1.0", rule_compilation,
                               "training_2.1.0/common.yaml")
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace strata::bench::micro
