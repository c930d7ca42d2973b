#include "bench/step/start_benchmark.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/files/temporary_folder.h"
#include "base/numbers/cumulative_counts.h"
#include "base/numbers/random.h"
#include "base/timing.h"
#include "data/files/convert.h"
#include "data/files/instance_file.h"
#include "data/files/sample_index.h"
#include "harness/host/page_cache.h"
#include "loadbalance/length_histogram.h"
#include "loadbalance/plans/batch_plan.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/data.h"

namespace strata::bench {
namespace {

constexpr uint32_t kSmallSamples = 20'000;

// Returns lengths with MLPerf Wikipedia's shares, in random order.
std::vector<uint16_t> random_lengths(uint32_t samples) {
  const auto histogram = loadbalance::mlperf_wikipedia_histogram();
  std::vector<uint64_t> weights;
  for (const auto& entry : histogram) weights.push_back(static_cast<uint64_t>(entry.weight));
  const CumulativeCounts kinds(weights);
  SplitMix64 random(1);
  std::vector<uint16_t> lengths(samples);
  for (uint16_t& length : lengths) {
    length = static_cast<uint16_t>(histogram[kinds.kind_of(random.next() % kinds.total())].length);
  }
  return lengths;
}

std::vector<uint16_t> masked_counts_of(const std::vector<uint16_t>& lengths) {
  std::vector<uint16_t> counts(lengths.size());
  std::ranges::transform(lengths, counts.begin(), [](uint16_t length) {
    return static_cast<uint16_t>(training::masked_by_recipe(length));
  });
  return counts;
}

void write_small_data(const std::filesystem::path& path) {
  const bert::BertConfig bert;  // BERT-large, for its vocabulary
  const std::vector<uint16_t> drawn = random_lengths(kSmallSamples);
  data::Instances instances;
  data::append_samples(
      training::synthetic_batch(bert, std::vector<int32_t>(drawn.begin(), drawn.end()), 1),
      instances);
  data::InstanceFileInfo info;
  info.vocabulary_size = static_cast<int32_t>(bert.vocab_size);
  info.max_length = static_cast<int32_t>(bert.max_positions);
  info.max_predictions = 76;
  data::write_instances(path, instances, info);
  data::write_index(std::span(&path, 1));
}

// Returns the seconds that `work` takes.
template <typename Work>
double time(const Work& work) {
  const auto begin = Clock::now();
  work();
  return seconds_since(begin);
}

// Returns a new folder below `parent`, or below the system's folder for temporary files if that is
// empty.
std::unique_ptr<TemporaryFolder> make_folder(const std::filesystem::path& parent) {
  std::error_code error;
  const auto below = parent.empty() ? std::filesystem::temp_directory_path(error) : parent;
  if (error) fail("TMPDIR: is not a folder; set it to one, or give --folder");
  std::filesystem::create_directories(below, error);
  std::unique_ptr<TemporaryFolder> folder;
  if (!error) folder = std::make_unique<TemporaryFolder>(below, "strata-start.", error);
  if (error) {
    fail("{}: cannot make a folder there: {}; give another --folder", below.string(),
         error.message());
  }
  return folder;
}

}  // namespace

StartBenchmark benchmark_start(const config::RunConfig& config, const StartOptions& options) {
  const auto say = [&](const char* phase) {
    if (options.progress) options.progress(phase);
  };
  const auto folder = make_folder(options.folder);
  const std::filesystem::path index_file = folder->path() / "made-up.index",
                              small = folder->path() / "small.hdf5";
  const std::vector<data::IndexedFile> files = {{"made-up.hdf5", 1, options.samples}};
  StartBenchmark result;
  say("writing an index");
  {
    std::vector<uint16_t> lengths = random_lengths(options.samples);
    std::vector<uint16_t> masked = masked_counts_of(lengths);
    result.make = time(
        [&] { data::SampleIndex(std::move(lengths), std::move(masked)).write(index_file, files); });
  }
  result.index_bytes = std::filesystem::file_size(index_file);
  write_small_data(small);
  const std::filesystem::path made[] = {index_file, small, data::index_path(small)};
  harness::clear_page_cache(made, false);

  say("starting");
  std::optional<data::SampleIndex> index;
  result.open = time([&] { index.emplace(data::SampleIndex::open(index_file, files)); });
  std::span<const uint32_t> global;
  std::unique_ptr<loadbalance::BatchPlan> plan;
  const loadbalance::PlanOptions batch_plan_options =
      training::batch_plan_options(config, options.ranks, config.run.seed.value_or(1));
  result.plan = time([&] {
    plan =
        loadbalance::make_batch_plan(batch_plan_options, training::histogram_of(index->classes()));
    global = plan->next_step();
    for (const uint32_t sorted_index : global)
      result.masked += index->classes().of(sorted_index).masked;
  });
  std::vector<uint32_t> samples;
  const auto share = static_cast<size_t>(batch_plan_options.batch_per_rank);
  result.find = time([&] {
    for (const uint32_t sorted_index : global.first(share))
      samples.push_back(index->sample_at(sorted_index));
  });
  std::ranges::transform(samples, samples.begin(),
                         [](uint32_t sample) { return sample % kSmallSamples; });
  result.read = time([&] {
    data::PackedBatch batch;
    data::open_instances(small)->read(samples, batch);
  });
  return result;
}

}  // namespace strata::bench
