#include "training/setup.h"

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/threads/processors.h"
#include "data/text/vocabulary.h"
#include "device/registry/backends.h"
#include "training/options.h"

namespace strata::training {
namespace {

// The sum of the `samples` largest values: what the fullest micro-batch could need.
int64_t sum_of_largest(std::span<const uint16_t> values, int64_t samples) {
  std::vector<uint16_t> largest(values.begin(), values.end());
  const auto count = static_cast<size_t>(std::min<int64_t>(samples, std::ssize(largest)));
  std::partial_sort(largest.begin(), largest.begin() + static_cast<int64_t>(count), largest.end(),
                    std::greater<>());
  return std::accumulate(largest.begin(), largest.begin() + static_cast<int64_t>(count),
                         int64_t{0});
}

// Of a sample.
int64_t most_tokens(const config::DataConfig& data, const bert::BertConfig& model) {
  return std::min<int64_t>(data.max_length.value_or(static_cast<int>(model.max_positions)),
                           model.max_positions);
}

device::DType compute_dtype(const config::RunConfig& config) {
  const config::Precision precision = config.model.precision;
  const device::BackendKind& backend = *config.device.backend;
  if (precision == config::Precision::kFp16) return device::DType::kF16;
  const bool bf16 = precision == config::Precision::kBf16 ||
                    (precision != config::Precision::kFp32 && backend.bf16_is_native());
  const device::DType dtype = bf16 ? device::DType::kBF16 : device::DType::kF32;
  return backend.computes_in(dtype) ? dtype : backend.compute_dtypes.front();
}

// A checkpoint with an optimizer's state has hundreds of names.
std::string first_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  const std::span shown = std::span(names).first(std::min(names.size(), kMost));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

// Identifies a file whatever its name.
using FileId = std::pair<dev_t, ino_t>;

// The files of a data set, each with the path that was given for it.
std::vector<std::pair<std::filesystem::path, FileId>> files_of(
    const std::vector<std::filesystem::path>& paths) {
  std::vector<std::pair<std::filesystem::path, FileId>> files;
  const auto add = [&](const std::filesystem::path& file) {
    struct stat status;
    if (::stat(file.c_str(), &status) == 0) {
      files.emplace_back(file, FileId{status.st_dev, status.st_ino});
    }
  };
  for (const std::filesystem::path& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      add(path);
      continue;
    }
    for (const std::filesystem::path& file : list_directory(path, ignored)) {
      if (data::is_named_as_data(file)) add(file);
    }
  }
  return files;
}

std::vector<std::string> doubts_about_files(const config::DataConfig& data) {
  std::vector<std::string> doubts;
  // The files of a key, in the order of their names, each once.
  const auto distinct = [&](const char* key, const std::vector<std::filesystem::path>& paths) {
    std::map<FileId, std::filesystem::path> seen;
    for (const auto& [path, file] : files_of(paths)) {
      const auto [before, is_new] = seen.try_emplace(file, path);
      if (is_new) continue;
      doubts.push_back(before->second == path
                           ? fmt::format("{}: {}: is given twice; give it once", key, path.string())
                           : fmt::format("{}: {}: is the same file as {}; give it once", key,
                                         path.string(), before->second.string()));
    }
    return seen;
  };
  const auto train = distinct("data.train", data.train), eval = distinct("data.eval", data.eval);
  for (const auto& [file, path] : eval) {
    const auto trained = train.find(file);
    if (trained == train.end()) continue;
    doubts.push_back(fmt::format(
        "data.eval: {}: data.train has this file, too ({}); evaluate on samples that are not "
        "trained on",
        path.string(), trained->second.string()));
  }
  return doubts;
}

void check_is_there(const char* key, const std::filesystem::path& path,
                    const std::filesystem::path& or_else = {}) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) || std::filesystem::exists(or_else, ignored)) return;
  fail("{}: {}: no such file; correct the path (docs/mlperf.md says where MLPerf's files are)", key,
       path.string());
}

RankProcessors processors_of(const LocalRank& local) {
  const auto affinities =
      local.affinities.empty()
          ? std::vector<std::vector<int>>(static_cast<size_t>(local.count), affinity())
          : local.affinities;
  return processors_of_rank(static_cast<size_t>(local.rank), affinities, numa_nodes(),
                            processor_quota());
}

}  // namespace

bert::BertConfig make_bert_config(const config::RunConfig& config) {
  bert::BertConfig model = bert::load_bert_config(config.model.config);
  if (config.model.hidden_dropout)
    model.hidden_dropout = static_cast<float>(*config.model.hidden_dropout);
  if (config.model.attention_dropout) {
    model.attention_dropout = static_cast<float>(*config.model.attention_dropout);
  }
  model.norm = config.model.norm;
  bert::validate(model, config.model.config);
  return model;
}

void check_stages(const config::RunConfig& config, const bert::BertConfig& model, int ranks) {
  if (const int modules = config.ouroboros.modules; modules > 1) {
    if (modules > model.layers) {
      fail("ouroboros.modules: {} modules need a layer each, {} has {}; use fewer", modules,
           config.model.config, model.layers);
    }
    if (ranks != modules - 1) {
      fail("ouroboros.modules: {} modules are on {}, not on {}; start {}, or use {} modules",
           modules, counted(modules - 1, "rank"), ranks, modules - 1, ranks + 1);
    }
    return;
  }
  const int stages = config.parallel.stages;
  if (model.layers % stages != 0) {
    fail("parallel.stages: {} does not divide the {} of {}; use a number that does", stages,
         counted(model.layers, "layer"), config.model.config);
  }
  if (ranks % stages != 0) {
    fail("parallel.stages: {} does not divide {}; start a multiple of {}", stages,
         counted(ranks, "rank"), stages);
  }
}

void check_one_stage(const config::RunConfig& config) {
  check_undelayed(config);
  if (config.parallel.stages == 1) return;
  fail("parallel.stages: {}: this measures whole models; set it to 1", config.parallel.stages);
}

void check_undelayed(const config::RunConfig& config) {
  if (config.ouroboros.modules == 1) return;
  fail("ouroboros.modules: {}: this measures steps without delay; set it to 1",
       config.ouroboros.modules);
}

void check_vocabulary(const config::RunConfig& config, const bert::BertConfig& model) {
  if (config.model.vocab) {
    check_is_there("model.vocab", *config.model.vocab);
    const data::Vocabulary vocabulary = data::Vocabulary::read(*config.model.vocab);
    if (vocabulary.size() != model.vocab_size &&
        !bert::is_padded_vocabulary(model.vocab_size, vocabulary.size())) {
      fail("{}: has {}, the model {} has vocab_size={}; use the vocabulary it was made with",
           config.model.vocab->string(), counted(vocabulary.size(), "entry"), config.model.config,
           model.vocab_size);
    }
  }
}

int thread_count(const config::RunConfig& config, const LocalRank& local) {
  return config.device.threads.value_or(processors_of(local).threads);
}

std::unique_ptr<device::Backend> make_backend(const config::RunConfig& config,
                                              const LocalRank& local) {
  const int threads = thread_count(config, local);
  auto backend = device::make_backend({.name = config.device.backend->name,
                                       .compute_dtype = compute_dtype(config),
                                       .threads = threads,
                                       .device = local.rank,
                                       .options = config.device.options});
  // Before memory is touched. More threads than the node has are meant to run elsewhere, too.
  const std::vector<int> bound = processors_of(local).bound;
  if (backend->memory_is_host() && threads <= std::ssize(bound)) set_affinity(bound);
  return backend;
}

void check_checkpoint_path(const config::ModelConfig& model) {
  // A TensorFlow checkpoint is given by its prefix.
  if (model.checkpoint) {
    check_is_there("model.checkpoint", *model.checkpoint, model.checkpoint->string() + ".index");
  }
}

void check_data_paths(const config::DataConfig& data) {
  std::vector<std::string> problems;
  const auto check = [&](const char* key, std::span<const std::filesystem::path> paths,
                         const char* advice) {
    for (const std::filesystem::path& path : paths) {
      if (::access(path.c_str(), R_OK) == 0) continue;
      problems.push_back(
          errno == ENOENT
              ? fmt::format("{}: {}: no such file or folder; {}", key, path.string(), advice)
              : fmt::format("{}: {}: {}", key, path.string(), std::strerror(errno)));
    }
  };
  constexpr char kMakeData[] =
      "'strata data mlperf' makes MLPerf's data set (docs/mlperf.md), 'strata data prepare' one of "
      "any text (docs/data.md)";
  check("data.train", data.train, kMakeData);
  check("data.eval", data.eval, kMakeData);
  if (data.shapes) {
    check("data.shapes", {&*data.shapes, 1},
          "'strata data shapes' makes it from the training set, or set data.shapes to none");
  }
  if (!problems.empty()) fail("{}", fmt::join(problems, "\n"));
}

std::vector<std::string> doubts_about(const config::RunConfig& config, int ranks) {
  std::vector<std::string> doubts = doubts_about_files(config.data);
  const int64_t batch = global_batch_size(config, ranks), samples = max_steps(config) * batch;
  if (batch == 0) return doubts;  // too few ranks for a model, which check_stages() tells
  if (const int64_t first = samples_at_next_evaluation(config, ranks, 0); first > samples) {
    doubts.push_back(fmt::format(
        "target: the first evaluation is due at {}, but the last of {} of {} ends at {}, so the "
        "run cannot reach its target; lower target.eval_interval_samples or "
        "target.start_eval_at_sample, or raise target.max_steps or the global batch (more ranks)",
        counted(first, "sample"), counted(max_steps(config), "step"), counted(batch, "sample"),
        count_text(samples)));
  }
  return doubts;
}

std::unique_ptr<data::InstanceSource> open_data(const std::vector<std::filesystem::path>& paths,
                                                const config::DataConfig& data,
                                                const bert::BertConfig& model) {
  auto source =
      data::open_instances(paths, {.vocabulary_size = static_cast<int32_t>(model.vocab_size),
                                   .max_length = static_cast<int32_t>(model.max_positions),
                                   .variable_length = data.variable_length});
  for (const data::SampleClass& alike : source->index().classes().all()) {
    if (static_cast<int64_t>(alike.length) > most_tokens(data, model)) {
      fail("{}: {} of {}, but data.max_length is {}; raise it", paths[0].string(),
           counted(alike.count, "sample"), counted(alike.length, "token"),
           most_tokens(data, model));
    }
    if (static_cast<int64_t>(alike.masked) > data.max_predictions_per_seq) {
      fail("{}: {} with {}, but data.max_predictions_per_seq is {}; raise it", paths[0].string(),
           counted(alike.count, "sample"), counted(alike.masked, "masked position"),
           data.max_predictions_per_seq);
    }
  }
  return source;
}

std::vector<loadbalance::LengthCount> histogram_of(const data::SampleClasses& classes) {
  std::vector<loadbalance::LengthCount> histogram;
  for (const data::SampleClass& alike : classes.all()) {
    loadbalance::append(histogram,
                        {static_cast<int>(alike.length), static_cast<int64_t>(alike.count)});
  }
  return histogram;
}

bert::BatchCapacity capacity_of(const config::RunConfig& config, const bert::BertConfig& model) {
  const int64_t samples = config.batch.micro_batch;
  return {.tokens = samples * most_tokens(config.data, model),
          .sequences = samples,
          .masked = samples * config.data.max_predictions_per_seq};
}

bert::BatchCapacity capacity_of(const data::InstanceSource& source, int64_t samples) {
  return {.tokens = sum_of_largest(source.lengths(), samples),
          .sequences = samples,
          .masked = std::max<int64_t>(sum_of_largest(source.masked_counts(), samples), 1)};
}

std::unique_ptr<bert::Model> make_model(const config::RunConfig& config,
                                        const bert::BertConfig& model, device::Backend& backend,
                                        const comm::Communicator& communicator) {
  if (config.model.precision == config::Precision::kFp8) {
    backend.require(device::Operation::kRoundToFloat8, device::DType::kE4M3);
  }
  return std::make_unique<bert::Model>(model, backend, capacity_of(config, model),
                                       model_options(config, model, communicator));
}

bert::BatchCapacity larger(const bert::BatchCapacity& a, const bert::BatchCapacity& b) {
  return {std::max(a.tokens, b.tokens), std::max(a.sequences, b.sequences),
          std::max(a.masked, b.masked)};
}

bert::HostWeights make_weights(const config::RunConfig& config, const bert::ParameterLayout& layout,
                               uint64_t seed,
                               const std::function<void(const std::string&)>& describe,
                               const LocalRank& local) {
  const auto threads = static_cast<unsigned>(thread_count(config, local));
  if (!config.model.checkpoint) {
    describe("weights: random (model.checkpoint is not set)");
    return bert::random_weights(layout, seed, threads);
  }
  check_checkpoint_path(config.model);
  bert::LoadedWeights loaded = bert::load_weights(layout, *config.model.checkpoint, seed, threads);
  describe(fmt::format("weights: {}", config.model.checkpoint->string()));
  if (!loaded.initialised.empty()) {
    describe(fmt::format("weights: the file lacks, so they start anew: {}",
                         first_of(loaded.initialised)));
  }
  if (loaded.padding_rows > 0) {
    describe(fmt::format("weights: left out {} of padding behind the vocabulary",
                         counted(loaded.padding_rows, "row")));
  }
  if (!loaded.unused.empty()) {
    describe(fmt::format("weights: the model has no place for: {}", first_of(loaded.unused)));
  }
  return std::move(loaded.values);
}

}  // namespace strata::training
