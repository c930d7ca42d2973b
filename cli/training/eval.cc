#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json_version.h"
#include "bert/model/model.h"
#include "cli/commands.h"
#include "cli/options/config_options.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"
#include "comm/mpi/end_job_on_error.h"
#include "training/evaluation.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"
#include "training/factories/data.h"
#include "training/factories/model.h"
#include "training/factories/weights.h"

namespace strata::cli {
namespace {

struct EvalOptions {
  ConfigOptions run;
  std::string checkpoint;
  bool json = false;
};

void print(const bert::Losses& losses, int64_t samples, bool json) {
  const auto& [masked, next, standardization] = losses;
  if (json) {
    const nlohmann::ordered_json result = {
        {"version", kJsonVersion},
        {"samples", samples},
        {"masked_lm",
         {{"accuracy", losses.masked_lm_accuracy()},
          {"correct", masked.correct},
          {"total", masked.count},
          {"loss", masked.mean()}}},
        {"next_sentence",
         {{"correct", next.correct}, {"total", next.count}, {"loss", next.mean()}}},
        {"loss", losses.mean_loss()}};
    write_json(result);
    return;
  }
  fmt::print("samples               {}\n", samples);
  fmt::print("masked-LM accuracy    {:.5f} ({} of {})\n", losses.masked_lm_accuracy(),
             masked.correct, masked.count);
  fmt::print("masked-LM loss        {:.6f}\n", masked.mean());
  fmt::print("next-sentence         {} of {} correct, loss {:.6f}\n", next.correct, next.count,
             next.mean());
}

void evaluate(const EvalOptions& options, const training::Ranks& ranks) {
  config::RunConfig config = options.run.load();
  if (!options.checkpoint.empty())
    config.model.checkpoint = std::filesystem::absolute(options.checkpoint);
  ranks.communicator.end_job_after(config.run.stall_seconds);
  const bert::BertConfig bert = training::make_bert_config(config);
  training::check_vocabulary(config, bert);
  const auto backend = training::make_backend(config, ranks.local);
  const auto source = training::open_data(config.data.eval, config.data, bert);
  bert::Model model(bert, *backend, training::capacity_of(*source, config.batch.micro_batch));
  const uint64_t seed = config.run.seed.value_or(0);  // seed of missing weights
  const auto describe = [&](const std::string& line) {
    if (ranks.first()) print_to_stderr("{}\n", line);
  };
  model.set_weights(training::make_weights(config, model.layout(), seed, describe, ranks.local));
  training::Evaluator evaluator(model, *source, config.data.eval_samples, config.batch.micro_batch,
                                ranks.communicator);
  const bert::Losses losses =
      comm::end_job_on_error(ranks.communicator, [&] { return evaluator.evaluate(); });
  if (ranks.first()) print(losses, evaluator.samples(), options.json);
}

}  // namespace

void add_eval_command(CLI::App& app, int&) {
  const auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand(
      "eval", "Print masked-LM accuracy and losses on the evaluation set, without training");
  add_config_options(*command, options->run, ": model, data.eval, batch.micro_batch",
                     "model.precision=fp32")
      ->required();
  command->add_option(
      "--checkpoint", options->checkpoint,
      "Weights in place of model.checkpoint: a safetensors file or TensorFlow 1 checkpoint");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) { evaluate(*options, ranks); },
                 [&] { return options->run.stall_seconds(); });
  });
}

}  // namespace strata::cli
