// strata data: makes pretraining data from text and shows what is in a file.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "base/timing.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "data/files/compare.h"
#include "data/files/convert.h"
#include "data/files/instance_file.h"
#include "data/prepare/mlperf_data.h"
#include "data/prepare/prepare.h"
#include "data/text/vocabulary.h"

namespace strata::cli {
namespace {

using data::InstanceFileInfo;
using data::InstanceSource;
using data::UnicodeVersion;
using nlohmann::ordered_json;

constexpr int kHistogramBins = 16;
constexpr int kBarWidth = 50;

// Limits that take any file: for looking, not for training.
data::InstanceLimits any_sample(bool variable_length) {
  return {INT32_MAX, INT32_MAX, variable_length};
}

void add_variable_length(CLI::App& command, bool& variable_length) {
  command.add_flag("--variable-length", variable_length,
                   "read variable-length rows (mlperf-varlen); only of files of known origin, "
                   "because the HDF5 library does not check them");
}

ordered_json to_json(const data::TargetStatistics& targets) {
  return {{"masked_tokens", targets.masked},
          {"most_frequent_id", targets.most_frequent},
          {"most_frequent_share", targets.share}};
}

ordered_json to_json(const data::FileSummary& summary) {
  ordered_json json = {{"file", summary.path.string()},      {"documents", summary.documents},
                       {"sentences", summary.sentences},     {"text_tokens", summary.text_tokens},
                       {"instances", summary.instances},     {"tokens", summary.tokens},
                       {"mean_length", summary.mean_length}, {"longest", summary.longest}};
  json.update(to_json(summary.targets));
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

void write_json(const ordered_json& json) { fmt::print("{}\n", json_text(json, 2)); }

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
    say_text(fmt::format("left out of training: {} of held-out documents\n",
                         counted(summary.repeated_sentences, "sentence")));
  }
  say_text(fmt::format("{:.1f} s\n", summary.seconds));
}

struct Histogram {
  int32_t width = 1;  // of a bin, in tokens
  std::vector<uint64_t> counts;
};

Histogram length_histogram(const InstanceSource& source, int32_t longest) {
  Histogram histogram;
  histogram.width = (longest + kHistogramBins - 1) / kHistogramBins;
  histogram.counts.resize(kHistogramBins);
  for (const int32_t length : source.lengths()) {
    ++histogram.counts[static_cast<size_t>((length - 1) / histogram.width)];
  }
  return histogram;
}

void run_info(const std::filesystem::path& file, bool variable_length, bool as_json) {
  const InstanceFileInfo info = data::describe_instance_file(file);
  const auto source = data::open_instances(file, any_sample(variable_length));
  const auto lengths = source->lengths();
  const int32_t longest = *std::max_element(lengths.begin(), lengths.end());
  uint64_t tokens = 0;
  for (const int32_t length : lengths) tokens += static_cast<uint64_t>(length);
  const double mean = static_cast<double>(tokens) / source->size();
  const Histogram histogram = length_histogram(*source, longest);
  const data::TargetStatistics targets =
      data::count_targets(data::load_instances(*source).masked_ids);
  if (as_json) {
    ordered_json json = {{"version", kJsonVersion},
                         {"file", file.string()},
                         {"format", data::form_name(info.form)},
                         {"instances", source->size()},
                         {"tokens", tokens},
                         {"mean_length", mean},
                         {"longest", longest},
                         {"vocabulary_size", info.vocabulary_size},
                         {"max_length", info.max_length},
                         {"max_predictions", info.max_predictions},
                         {"seed", info.seed},
                         {"text_hash", info.text_hash},
                         {"data_sets", info.data_sets},
                         {"histogram_width", histogram.width},
                         {"histogram", histogram.counts}};
    json.update(to_json(targets));
    json["made_from"] = info.made_from;
    write_json(json);
    return;
  }
  say_text(fmt::format(
      "{}: {}\n  instances  {} of {:.1f} tokens on average, {} at most\n"
      "  masked     {}; always guessing token {} is right for {:.2f} %\n",
      file.string(), data::form_name(info.form), count_text(source->size()), mean, longest,
      counted(targets.masked, "token"), targets.most_frequent, 100 * targets.share));
  if (!info.made_from.empty()) say_text(fmt::format("  made from  {}\n", one_line(info.made_from)));
  for (const std::string& set : info.data_sets)
    say_text(fmt::format("  data set   {}\n", one_line(set)));
  const uint64_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  for (size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    const uint64_t count = histogram.counts[bin];
    const int32_t first = static_cast<int32_t>(bin) * histogram.width + 1;
    say_text(fmt::format("  {:>5}..{:<5} {:>8} {}\n", first, first + histogram.width - 1, count,
                         std::string(count * kBarWidth / most, '#')));
  }
}

// The sample as text: masked places show what the model sees and, in braces, what stood there.
std::string readable(const data::PackedBatch& batch, const data::Vocabulary& vocabulary) {
  std::string text;
  size_t masked = 0;
  for (size_t i = 0; i < batch.tokens.size(); ++i) {
    if (!text.empty()) text += ' ';
    text += vocabulary.entry(batch.tokens[i]);
    if (masked < batch.masked_positions.size() &&
        static_cast<size_t>(batch.masked_positions[masked]) == i) {
      text += fmt::format("{{{}}}", vocabulary.entry(batch.masked_ids[masked++]));
    }
  }
  return text;
}

void run_show(const std::filesystem::path& file, uint32_t index,
              const std::filesystem::path& vocabulary_file, bool variable_length, bool as_json) {
  const data::Vocabulary vocabulary = data::Vocabulary::read(vocabulary_file);
  const auto source = data::open_instances(file, {vocabulary.size(), INT32_MAX, variable_length});
  data::PackedBatch batch;
  source->read(std::span(&index, 1), batch);
  const std::vector<uint32_t> documents = source->documents();
  const bool is_random = batch.next_sentence[0] == 1;
  if (as_json) {
    ordered_json json = {{"version", kJsonVersion},
                         {"file", file.string()},
                         {"index", index},
                         {"tokens", batch.tokens},
                         {"segments", batch.segments},
                         {"masked_positions", batch.masked_positions},
                         {"masked_ids", batch.masked_ids},
                         {"next_sentence_label", batch.next_sentence[0]},
                         {"text", readable(batch, vocabulary)}};
    if (!documents.empty()) json["documents"] = {documents[2 * index], documents[2 * index + 1]};
    write_json(json);
    return;
  }
  say_text(fmt::format("{} sample {}: {}, {} masked, the second sentence {}\n", file.string(),
                       index, counted(batch.tokens.size(), "token"), batch.masked_ids.size(),
                       is_random ? "is random" : "follows"));
  if (!documents.empty()) {
    say_text(fmt::format("documents {} and {}\n", documents[2 * index], documents[2 * index + 1]));
  }
  say_text(readable(batch, vocabulary) + "\n");
}

void add_unicode(CLI::App& command, UnicodeVersion& version) {
  const auto parse = [&version](const std::string& text) {
    version = data::parse_unicode_version(text);
  };
  command
      .add_option_function<std::string>("--unicode", parse,
                                        "version of Unicode that classes characters; the MLPerf "
                                        "reference's is 9.0")
      ->default_str("installed");
}

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
  prepare->add_option("--text", options.text, "UTF-8, a sentence a line, blank between documents")
      ->required();
  prepare->add_option("--vocab", options.vocabulary, "vocab.txt")->required();
  names_output(prepare->add_option("--out", options.out, "output directory"))->required();
  auto* every = prepare->add_option("--eval-every", options.eval_every,
                                    "hold out every N-th document; 0 holds out none");
  prepare
      ->add_option("--eval-documents", options.eval_documents,
                   "hold out N documents, evenly spread")
      ->excludes(every);
  prepare->add_option("--dupe-factor", recipe.dupe_factor, "passes over the text");
  prepare->add_option("--max-length", recipe.max_length, "tokens of an instance at most");
  prepare->add_option("--max-predictions", recipe.max_predictions, "masked tokens at most");
  prepare->add_option("--masked-lm-prob", recipe.masked_lm_prob, "masked share of the tokens");
  prepare->add_option("--short-seq-prob", recipe.short_seq_prob, "share of shorter instances");
  prepare->add_option("--seed", recipe.seed, "of every random choice");
  prepare->add_option("--format", settings->format, "packed, mlperf-fixed or mlperf-varlen");
  prepare->add_option("--threads", options.threads, "0: one for each core");
  prepare->add_flag("--force", options.force, "make the files again where they are up to date");
  prepare->add_flag("--json", settings->json, "print the summary as JSON");
  for (CLI::Option* option : prepare->get_options()) option->capture_default_str();
  add_unicode(*prepare, options.unicode);
  prepare->callback([settings] {
    settings->options.form = data::parse_form(settings->format);
    run_prepare(settings->options, settings->json);
  });
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

void add_mlperf(CLI::App& app) {
  struct Settings {
    data::MlperfDataOptions options;
    std::string format = "packed";
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  data::MlperfDataOptions& options = settings->options;
  CLI::App* mlperf = app.add_subcommand(
      "mlperf", "Make MLPerf's data set from its text: the reference's own samples, in its order");
  mlperf->add_option("--text", options.text, "directory of part-00000-of-00500 ... and eval.txt")
      ->required();
  mlperf->add_option("--vocab", options.vocabulary, "vocab.txt")->required();
  names_output(mlperf->add_option("--out", options.out, "output directory: train/ and eval.hdf5"))
      ->required();
  mlperf->add_option("--format", settings->format, "packed, mlperf-fixed or mlperf-varlen")
      ->capture_default_str();
  mlperf->add_option("--threads", options.threads, "files made at once, 1 GB each; 0: one a core")
      ->capture_default_str();
  add_unicode(*mlperf, options.unicode);
  mlperf->add_flag("--incomplete", options.incomplete, "make what there is of the text");
  mlperf->add_flag("--force", options.force, "make the files again where they are up to date");
  mlperf->add_flag("--json", settings->json, "print the summary as JSON");
  mlperf->callback([settings] {
    settings->options.form = data::parse_form(settings->format);
    run_mlperf(settings->options, settings->json);
  });
}

void add_convert(CLI::App& app) {
  struct Settings {
    std::vector<std::filesystem::path> from;
    std::filesystem::path to;
    std::string format = "packed";
    int32_t vocabulary_size = 30522;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* convert = app.add_subcommand("convert", "Rewrite data files as one file of any form");
  convert->add_option("files", settings->from, "HDF5 or TFRecord files or directories of them")
      ->required();
  names_output(convert->add_option("--out", settings->to, "output file"))->required();
  convert->add_option("--format", settings->format, "packed, mlperf-fixed or mlperf-varlen")
      ->capture_default_str();
  convert->add_option("--vocab-size", settings->vocabulary_size, "token ids are below it")
      ->capture_default_str();
  add_variable_length(*convert, settings->variable_length);
  convert->add_flag("--json", settings->json, "print JSON");
  convert->callback([settings] {
    const uint64_t written =
        data::convert_instances(settings->from, settings->to, data::parse_form(settings->format),
                                settings->vocabulary_size, settings->variable_length);
    if (settings->json) {
      const ordered_json json = {
          {"version", kJsonVersion}, {"file", settings->to.string()}, {"instances", written}};
      write_json(json);
    } else {
      say_text(fmt::format("{}: {}\n", settings->to.string(), counted(written, "instance")));
    }
  });
}

// The samples that two data sets share, and whether they differ in order alone.
struct Comparison {
  uint32_t samples_a = 0, samples_b = 0;
  std::optional<std::string> difference;  // the first, in order
  data::ContentDifference content;
  std::string content_text;
};

Comparison compare_data(const InstanceSource& a, const InstanceSource& b) {
  Comparison found{a.size(), b.size(), data::first_difference(a, b), {}, {}};
  if (found.difference) {
    found.content = data::compare_content(a, b);
    found.content_text = data::to_text(found.content, a);
  }
  return found;
}

void print_comparison(const Comparison& found, bool as_json) {
  if (!as_json) {
    say_text(found.difference
                 ? fmt::format("different: {}\n{}\n", *found.difference, found.content_text)
                 : fmt::format("the same {}\n", counted(found.samples_a, "sample")));
    return;
  }
  ordered_json json = {{"version", kJsonVersion},
                       {"same", !found.difference},
                       {"same_content", found.content.is_none()},
                       {"samples", {found.samples_a, found.samples_b}},
                       {"only_in_first", found.content.only_in_a},
                       {"only_in_second", found.content.only_in_b}};
  if (found.difference) json["difference"] = *found.difference;
  write_json(json);
}

void add_compare(CLI::App& app, int& exit_code) {
  struct Settings {
    std::filesystem::path a, b;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* compare = app.add_subcommand(
      "compare",
      "Say whether two data sets hold the same samples in the same order, and if not, whether the "
      "order alone differs or how many samples are missing");
  compare->add_option("first", settings->a, "file or directory of any supported form")->required();
  compare->add_option("second", settings->b, "another")->required();
  add_variable_length(*compare, settings->variable_length);
  compare->add_flag("--json", settings->json, "print JSON");
  compare->callback([settings, &exit_code] {
    const auto limits = any_sample(settings->variable_length);
    const Comparison found = compare_data(*data::open_instances(settings->a, limits),
                                          *data::open_instances(settings->b, limits));
    print_comparison(found, settings->json);
    exit_code = found.difference ? 1 : 0;
  });
}

void add_info(CLI::App& app) {
  struct Settings {
    std::filesystem::path file;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* info = app.add_subcommand("info", "Print counts, lengths and schema of a data file");
  info->add_option("file", settings->file, "HDF5 or TFRecord file of any supported form")
      ->required();
  add_variable_length(*info, settings->variable_length);
  info->add_flag("--json", settings->json, "print JSON");
  info->callback(
      [settings] { run_info(settings->file, settings->variable_length, settings->json); });
}

void add_index(CLI::App& app) {
  struct Settings {
    std::vector<std::filesystem::path> paths;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* index = app.add_subcommand(
      "index",
      "Write a data set's index, with which training starts at once (other commands that "
      "make data do it themselves)");
  index
      ->add_option("files", settings->paths,
                   "what data.train or data.eval names: HDF5 or TFRecord files or a directory")
      ->required();
  add_variable_length(*index, settings->variable_length);
  index->add_flag("--json", settings->json, "print JSON");
  index->footer(
      "The index of a file is FILE.index, that of a directory DIRECTORY/samples.index; "
      "of several, that of the first.");
  index->callback([settings] {
    const auto started = Clock::now();
    const uint32_t samples = data::write_index(settings->paths, settings->variable_length);
    const std::filesystem::path path = data::index_path(settings->paths.front());
    const uint64_t bytes = std::filesystem::file_size(path);
    const double seconds = seconds_since(started);
    if (settings->json) {
      const ordered_json json = {{"version", kJsonVersion},
                                 {"index", path.string()},
                                 {"samples", samples},
                                 {"bytes", bytes},
                                 {"seconds", seconds}};
      write_json(json);
    } else {
      say_text(fmt::format("{}: {}, {:.1f} bytes each, {:.1f} s\n", path.string(),
                           counted(samples, "sample"), static_cast<double>(bytes) / samples,
                           seconds));
    }
  });
}

void add_shapes(CLI::App& app) {
  struct Settings {
    std::vector<std::filesystem::path> paths;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* shapes = app.add_subcommand(
      "shapes", "Print how many samples have which length and masked positions, for data.shapes");
  shapes->add_option("files", settings->paths, "HDF5 or TFRecord files or directories of them")
      ->required();
  add_variable_length(*shapes, settings->variable_length);
  shapes->add_flag("--json", settings->json, "print JSON, which data.shapes does not read");
  shapes->callback([settings] {
    const auto source =
        data::open_instances(settings->paths, any_sample(settings->variable_length));
    const data::SampleClasses& classes = source->index().classes();
    if (!settings->json) return say_text(data::to_text(classes));
    ordered_json list = ordered_json::array();
    for (const auto& [length, masked, count] : classes.all()) {
      list.push_back({{"length", length}, {"masked", masked}, {"samples", count}});
    }
    const ordered_json json = {
        {"version", kJsonVersion}, {"samples", source->size()}, {"shapes", list}};
    write_json(json);
  });
}

void add_show(CLI::App& app) {
  struct Settings {
    std::filesystem::path file, vocabulary;
    uint32_t index = 0;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* show = app.add_subcommand("show", "Print one sample of a data file readably");
  show->add_option("file", settings->file, "HDF5 or TFRecord file of any supported form")
      ->required();
  show->add_option("index", settings->index, "sample, from 0")->required();
  show->add_option("--vocab", settings->vocabulary, "vocab.txt")->required();
  add_variable_length(*show, settings->variable_length);
  show->add_flag("--json", settings->json, "print JSON");
  show->callback([settings] {
    run_show(settings->file, settings->index, settings->vocabulary, settings->variable_length,
             settings->json);
  });
}

}  // namespace

void add_data_command(CLI::App& app, int& exit_code) {
  CLI::App* data = app.add_subcommand("data", "Make pretraining data from text, look into files");
  data->require_subcommand(1);
  add_prepare(*data);
  add_mlperf(*data);
  add_convert(*data);
  add_index(*data);
  add_shapes(*data);
  add_compare(*data, exit_code);
  add_info(*data);
  add_show(*data);
}

}  // namespace strata::cli
