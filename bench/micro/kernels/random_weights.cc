#include <string>

#include "base/threads/parallel.h"
#include "bench/micro/micro.h"
#include "bert/weights/weights.h"

namespace strata::bench::micro {
namespace {

// Measures the initial weights that every process draws, allocation included.
void random_weights(benchmark::State& state, const std::string& model) {
  const bert::ParameterLayout layout(bert::load_bert_config(model));
  const auto threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(bert::random_weights(layout, 1, threads).data());
  state.SetItemsProcessed(state.iterations() * layout.size);
}

}  // namespace

void add_random_weights() {
  for (const char* model : {"minilm", "bert-large"}) {
    auto* added = benchmark::RegisterBenchmark((std::string("random_weights/") + model).c_str(),
                                               random_weights, model);
    added->ArgName("threads")->Unit(benchmark::kMillisecond)->UseRealTime()->Arg(1);
    if (const unsigned all = thread_count(0); all > 1) added->Arg(all);
  }
}

}  // namespace strata::bench::micro
