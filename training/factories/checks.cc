#include "training/factories/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "data/text/vocabulary.h"

namespace strata::training {
namespace {

void check_is_there(const char* key, const std::filesystem::path& path,
                    const std::filesystem::path& or_else = {}) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) || std::filesystem::exists(or_else, ignored)) return;
  fail("{}: {}: no such file; correct the path (docs/mlperf.md says where MLPerf's files are)", key,
       path.string());
}

}  // namespace

void check_stages(const config::RunConfig& config, const bert::BertConfig& model, int ranks) {
  if (const int modules = config.ouroboros.modules; modules > 1) {
    if (modules > model.layers) {
      fail("ouroboros.modules: {} modules need one layer each, but {} has {}; use fewer modules",
           modules, config.model.config, model.layers);
    }
    if (ranks != modules - 1) {
      fail("ouroboros.modules: {} modules need {}, not {}; start {}{}", modules,
           counted(modules - 1, "rank"), ranks, modules - 1,
           ranks < model.layers ? fmt::format(", or use {} modules", ranks + 1) : "");
    }
    return;
  }
  const int stages = config.parallel.stages;
  if (model.layers % stages != 0) {
    fail("parallel.stages: {} does not divide the {} of {}; use a number that does", stages,
         counted(model.layers, "layer"), config.model.config);
  }
  if (ranks % stages != 0) {
    fail("parallel.stages: {} does not divide {}; start a multiple of {} ranks", stages,
         counted(ranks, "rank"), stages);
  }
}

void check_one_stage(const config::RunConfig& config) {
  check_undelayed(config);
  if (config.parallel.stages == 1) return;
  fail("parallel.stages: {}: this command measures only whole models; set it to 1",
       config.parallel.stages);
}

void check_undelayed(const config::RunConfig& config) {
  if (config.ouroboros.modules == 1) return;
  fail("ouroboros.modules: {}: this command measures only steps without delay; set it to 1",
       config.ouroboros.modules);
}

void check_global_batch(const config::RunConfig& config, int ranks, int64_t global_batch) {
  const int64_t ours = config::global_batch_size(config, ranks);
  if (ours == global_batch) return;
  fail(
      "the checkpoint's run has a global batch of {}, but {} with batch.micro_batch {} and "
      "batch.gradient_accumulation_steps {} give {}; change these three so that the global batches "
      "are equal",
      counted(global_batch, "sample"), counted(ranks, "rank"), config.batch.micro_batch,
      config.batch.gradient_accumulation_steps, count_text(ours));
}

void check_vocabulary(const config::RunConfig& config, const bert::BertConfig& model) {
  if (config.model.vocab) {
    check_is_there("model.vocab", *config.model.vocab);
    const data::Vocabulary vocabulary = data::Vocabulary::read(*config.model.vocab);
    if (vocabulary.size() != model.vocab_size &&
        !bert::is_padded_vocabulary(model.vocab_size, vocabulary.size())) {
      fail("{}: has {}, but the model {} has vocab_size={}; use the vocabulary of the model",
           config.model.vocab->string(), counted(vocabulary.size(), "entry"), config.model.config,
           model.vocab_size);
    }
  }
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

}  // namespace strata::training
