// strata data prepare and mlperf: data files from text.

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "cli/data/subcommands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "data/prepare/mlperf_data.h"
#include "data/prepare/prepare.h"

namespace strata::cli {
namespace {

using data::UnicodeVersion;
using nlohmann::ordered_json;

ordered_json to_json(const data::FileSummary& summary) {
  ordered_json json = {{"file", summary.path.string()},      {"documents", summary.documents},
                       {"sentences", summary.sentences},     {"text_tokens", summary.text_tokens},
                       {"instances", summary.instances},     {"tokens", summary.tokens},
                       {"mean_length", summary.mean_length}, {"longest", summary.longest}};
  json.update(target_json(summary.targets));
  json["most_frequent"] = summary.most_frequent;
  return json;
}

ordered_json to_json(const data::NewerCharacters& characters) {
  ordered_json json = ordered_json::array();
  for (const auto& [code_point, found] : characters.found()) {
    json.push_back({{"code_point", fmt::format("U+{:04X}", static_cast<uint32_t>(code_point))},
                    {"count", found.count},
                    {"file", found.file.string()},
                    {"offset", found.offset}});
  }
  return json;
}

void note(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void print_summary(const data::FileSummary& summary) {
  say_text(
      fmt::format("{}\n  text       {}, {}, {}\n"
                  "  instances  {} of {:.1f} tokens on average, {} at most\n"
                  "  masked     {}; always guessing '{}' is right for {:.2f} %\n",
                  summary.path.string(), counted(summary.documents, "document"),
                  counted(summary.sentences, "sentence"), counted(summary.text_tokens, "token"),
                  count_text(summary.instances), summary.mean_length, summary.longest,
                  counted(summary.targets.masked, "token"), summary.most_frequent,
                  100 * summary.targets.share));
}

void run_prepare(const data::PrepareOptions& options, bool as_json) {
  const data::PrepareSummary summary = data::prepare(options, note);
  if (as_json) {
    ordered_json json = {{"version", kJsonVersion}, {"skipped", summary.skipped}};
    if (!summary.skipped) {
      json["repeated_sentences_left_out"] = summary.repeated_sentences;
      json["train"] = to_json(summary.train);
      if (summary.eval) json["eval"] = to_json(*summary.eval);
      json["warnings"] = summary.warnings;
      json["seconds"] = summary.seconds;
    }
    write_json(json);
    return;
  }
  if (summary.skipped) {
    say_text(
        fmt::format("{}: up to date, made from the same text, vocabulary and options; --force "
                    "makes it again\n",
                    options.out.string()));
    return;
  }
  print_summary(summary.train);
  if (summary.eval) {
    print_summary(*summary.eval);
    say_text(fmt::format("left out of training: {}, found in held-out documents\n",
                         counted(summary.repeated_sentences, "sentence")));
  }
  say_text(fmt::format("{:.1f} s\n", summary.seconds));
}

void add_unicode(CLI::App& command, UnicodeVersion& version) {
  const auto parse = [&version](const std::string& text) {
    version = data::parse_unicode_version(text);
  };
  command
      .add_option_function<std::string>(
          "--unicode", parse,
          "Version of Unicode that classifies characters; the MLPerf reference uses 9.0")
      ->default_str("installed");
}

void run_mlperf(const data::MlperfDataOptions& options, bool as_json) {
  const data::MlperfDataSummary summary = data::make_mlperf_data(options, note);
  if (as_json) {
    const ordered_json json = {{"version", kJsonVersion},
                               {"files", summary.files},
                               {"already_there", summary.skipped},
                               {"train_samples", summary.train_samples},
                               {"eval_samples", summary.eval_samples},
                               {"unofficial", summary.unofficial},
                               {"newer_characters", to_json(summary.newer_characters)},
                               {"warnings", summary.warnings},
                               {"seconds", summary.seconds}};
    write_json(json);
    return;
  }
  say_text(fmt::format("{}: {} and {} in {}, {} of which existed already\n{:.1f} s\n",
                       options.out.string(), counted(summary.train_samples, "training sample"),
                       counted(summary.eval_samples, "evaluation sample"),
                       counted(summary.files, "file"), summary.skipped, summary.seconds));
}

}  // namespace

void add_prepare(CLI::App& app) {
  struct Settings {
    data::PrepareOptions options;
    std::string format = "packed";
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  data::PrepareOptions& options = settings->options;
  data::Recipe& recipe = options.recipe;
  CLI::App* prepare = app.add_subcommand(
      "prepare", "Make train.hdf5 and eval.hdf5 from raw text and a WordPiece vocabulary");
  prepare
      ->add_option("--text", options.text,
                   "Text in UTF-8, with one sentence per line and a blank line between documents")
      ->required();
  prepare->add_option("--vocab", options.vocabulary, "The model's vocab.txt")->required();
  names_output(prepare->add_option("--out", options.out, "Output directory"), OutputKind::kFolder)
      ->required();
  auto* every = prepare->add_option("--eval-every", options.eval_every,
                                    "Hold out every N-th document for evaluation; 0: none");
  prepare
      ->add_option("--eval-documents", options.eval_documents,
                   "Hold out N documents for evaluation, evenly spread")
      ->excludes(every);
  prepare->add_option("--dupe-factor", recipe.dupe_factor, "Number of passes over the text");
  prepare->add_option("--max-length", recipe.max_length, "Maximum tokens of an instance");
  prepare->add_option("--max-predictions", recipe.max_predictions,
                      "Maximum masked tokens of an instance");
  prepare->add_option("--masked-lm-prob", recipe.masked_lm_prob, "Share of tokens that are masked");
  prepare->add_option("--short-seq-prob", recipe.short_seq_prob, "Share of shorter instances");
  prepare->add_option("--seed", recipe.seed, "Seed of all random choices");
  prepare->add_option("--format", settings->format,
                      "Form of the files: packed, mlperf-fixed or mlperf-varlen");
  prepare->add_option("--threads", options.threads, "Number of threads; 0: one per core");
  prepare->add_flag("--force", options.force, "Make the files again even if they are up to date");
  prepare->add_flag("--json", settings->json, "Print the summary as JSON");
  for (CLI::Option* option : prepare->get_options()) option->capture_default_str();
  add_unicode(*prepare, options.unicode);
  prepare->callback([settings] {
    settings->options.form = data::parse_form(settings->format);
    run_prepare(settings->options, settings->json);
  });
}

void add_mlperf(CLI::App& app) {
  struct Settings {
    data::MlperfDataOptions options;
    std::string format = "packed";
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  data::MlperfDataOptions& options = settings->options;
  CLI::App* mlperf = app.add_subcommand("mlperf",
                                        "Make MLPerf's data set from its text, with the "
                                        "reference's samples in the reference's order");
  mlperf->add_option("--text", options.text, "Directory with part-00000-of-00500 ... and eval.txt")
      ->required();
  mlperf->add_option("--vocab", options.vocabulary, "The model's vocab.txt")->required();
  names_output(
      mlperf->add_option("--out", options.out, "Output directory for train/ and eval.hdf5"),
      OutputKind::kFolder)
      ->required();
  mlperf
      ->add_option("--format", settings->format,
                   "Form of the files: packed, mlperf-fixed or mlperf-varlen")
      ->capture_default_str();
  mlperf
      ->add_option("--threads", options.threads,
                   "Number of files made at once, with 1 to 1.5 GB of memory each; 0: one per core")
      ->capture_default_str();
  add_unicode(*mlperf, options.unicode);
  mlperf->add_flag("--incomplete", options.incomplete,
                   "Make files only from the parts of the text that exist");
  mlperf->add_flag("--force", options.force, "Make the files again even if they are up to date");
  mlperf->add_flag("--json", settings->json, "Print the summary as JSON");
  mlperf->callback([settings] {
    settings->options.form = data::parse_form(settings->format);
    run_mlperf(settings->options, settings->json);
  });
}

}  // namespace strata::cli
