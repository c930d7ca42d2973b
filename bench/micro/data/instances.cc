#include "bench/micro/data/synthetic_text.h"
#include "bench/micro/micro.h"
#include "data/text/pretraining_instances.h"

namespace strata::bench::micro {
namespace {

constexpr data::Recipe kRecipe{.dupe_factor = 2};

// `reference` uses the random numbers of MLPerf's program.
void make_instances(benchmark::State& state, bool reference) {
  const data::Vocabulary vocabulary = synthetic_vocabulary();
  const data::Corpus corpus = synthetic_corpus(state.range(0), vocabulary);
  size_t instances = 0;
  for (auto _ : state) {
    instances = (reference ? data::make_reference_instances(corpus, kRecipe, vocabulary)
                           : data::make_instances(corpus, kRecipe, vocabulary, 1))
                    .size();
    benchmark::DoNotOptimize(instances);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(instances));
}

}  // namespace

void add_instances() {
  for (const bool reference : {false, true}) {
    benchmark::RegisterBenchmark(reference ? "make_reference_instances" : "make_instances",
                                 make_instances, reference)
        ->ArgName("documents")
        ->Arg(100)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace strata::bench::micro
