// strata data info, show, shapes and compare: what data files hold.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "cli/data/subcommands.h"
#include "cli/output/print.h"
#include "data/files/compare.h"
#include "data/files/convert.h"
#include "data/text/vocabulary.h"

namespace strata::cli {
namespace {

using data::InstanceFileInfo;
using data::InstanceSource;
using nlohmann::ordered_json;

constexpr int kHistogramBins = 16;
constexpr int kBarWidth = 50;

struct Histogram {
  int32_t width = 1;  // tokens per bin
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
    json.update(target_json(targets));
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

// The sample as text. A masked token is followed by the original one in braces.
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

// Differences of two data sets. `content` ignores the order of samples.
struct Comparison {
  uint32_t samples_a = 0, samples_b = 0;
  std::optional<std::string> difference;  // the first, in sample order; absent: none
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

}  // namespace

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
  info->add_flag("--json", settings->json, "Print JSON");
  info->callback(
      [settings] { run_info(settings->file, settings->variable_length, settings->json); });
}

void add_show(CLI::App& app) {
  struct Settings {
    std::filesystem::path file, vocabulary;
    uint32_t index = 0;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* show = app.add_subcommand("show", "Print one sample of a data file as text");
  show->add_option("file", settings->file, "HDF5 or TFRecord file of any supported form")
      ->required();
  show->add_option("index", settings->index, "Number of the sample, from 0")->required();
  show->add_option("--vocab", settings->vocabulary, "The model's vocab.txt")->required();
  add_variable_length(*show, settings->variable_length);
  show->add_flag("--json", settings->json, "Print JSON");
  show->callback([settings] {
    run_show(settings->file, settings->index, settings->vocabulary, settings->variable_length,
             settings->json);
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
      "shapes",
      "Print the number of samples for each pair of length and masked positions, for data.shapes");
  shapes->add_option("files", settings->paths, "HDF5 or TFRecord files or directories of them")
      ->required();
  add_variable_length(*shapes, settings->variable_length);
  shapes->add_flag("--json", settings->json, "Print JSON, which data.shapes cannot read");
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

void add_compare(CLI::App& app, int& exit_code) {
  struct Settings {
    std::filesystem::path a, b;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* compare = app.add_subcommand(
      "compare",
      "Compare two data sets: whether they have the same samples in the same order, the same "
      "samples in another order, or how many samples are missing");
  compare->add_option("first", settings->a, "File or directory of any supported form")->required();
  compare->add_option("second", settings->b, "The other file or directory")->required();
  add_variable_length(*compare, settings->variable_length);
  compare->add_flag("--json", settings->json, "Print JSON");
  compare->callback([settings, &exit_code] {
    const auto limits = any_sample(settings->variable_length);
    const Comparison found = compare_data(*data::open_instances(settings->a, limits),
                                          *data::open_instances(settings->b, limits));
    print_comparison(found, settings->json);
    exit_code = found.difference ? 1 : 0;
  });
}

}  // namespace strata::cli
