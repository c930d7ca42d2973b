// strata data convert and index: other forms of data files, and their indexes.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "base/timing.h"
#include "cli/data/subcommands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "data/files/convert.h"

namespace strata::cli {
namespace {

using nlohmann::ordered_json;

}  // namespace

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
  names_output(convert->add_option("--out", settings->to, "Output file"), OutputKind::kFile)
      ->required();
  convert
      ->add_option("--format", settings->format,
                   "Form of the file: packed, mlperf-fixed or mlperf-varlen")
      ->capture_default_str();
  convert
      ->add_option("--vocab-size", settings->vocabulary_size,
                   "Size of the vocabulary; all token ids are below it")
      ->capture_default_str();
  add_variable_length(*convert, settings->variable_length);
  convert->add_flag("--json", settings->json, "Print JSON");
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

void add_index(CLI::App& app) {
  struct Settings {
    std::vector<std::filesystem::path> paths;
    bool variable_length = false;
    bool json = false;
  };
  auto settings = std::make_shared<Settings>();
  CLI::App* index = app.add_subcommand("index",
                                       "Write a data set's index, with which training starts at "
                                       "once. Other commands that make data also write it");
  index
      ->add_option(
          "files", settings->paths,
          "Value of data.train or data.eval: HDF5 or TFRecord files, or a directory of them")
      ->required();
  add_variable_length(*index, settings->variable_length);
  index->add_flag("--json", settings->json, "Print JSON");
  index->footer(
      "The index of a file is FILE.index, and of a directory DIRECTORY/samples.index. Several "
      "files or directories have one index, named for the first.");
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

}  // namespace strata::cli
