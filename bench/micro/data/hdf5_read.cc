#include <random>

#include "bench/micro/data/synthetic_text.h"
#include "bench/micro/micro.h"
#include "data/files/instance_file.h"
#include "data/text/pretraining_instances.h"

namespace strata::bench::micro {
namespace {

// Reads a micro-batch of samples from all over a file in the page cache.
void hdf5_read(benchmark::State& state, data::InstanceForm form) {
  const auto folder = make_temporary_folder();
  const auto path = folder->path() / "data.hdf5";
  const data::Vocabulary vocabulary = synthetic_vocabulary();
  const data::Recipe recipe{.dupe_factor = 2};
  data::write_instances(
      path, data::make_instances(synthetic_corpus(200, vocabulary), recipe, vocabulary, 1),
      {.form = form,
       .vocabulary_size = vocabulary.size(),
       .max_length = recipe.max_length,
       .max_predictions = recipe.max_predictions});
  const auto source = data::open_instances(path, {.variable_length = true});
  std::mt19937_64 random(1);
  std::vector<uint32_t> samples(static_cast<size_t>(state.range(0)));
  data::PackedBatch batch;
  double tokens = 0;
  for (auto _ : state) {
    for (uint32_t& sample : samples) sample = static_cast<uint32_t>(random() % source->size());
    source->read(samples, batch);
    tokens += static_cast<double>(batch.tokens.size());
  }
  state.counters["tokens_per_second"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

}  // namespace

void add_hdf5_read() {
  for (const auto form : {data::InstanceForm::kPacked, data::InstanceForm::kMlperfFixed,
                          data::InstanceForm::kMlperfVariable}) {
    benchmark::RegisterBenchmark(("hdf5_read/" + std::string(form_name(form))).c_str(), hdf5_read,
                                 form)
        ->ArgName("samples")
        ->Arg(8)
        ->Arg(56)
        ->UseRealTime()  // another process reads
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace strata::bench::micro
