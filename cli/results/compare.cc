#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/from_chars.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "cli/results/score_options.h"
#include "compare/comparison_report.h"
#include "compare/measurement_side.h"
#include "compare/result_side.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::vector<fs::path> sides;
  ScoreRules rules;
  std::vector<std::string> only;
  std::optional<std::string> fail_above;
  std::string csv_file, output;
  bool json = false, markdown = false;
};

// Parses a share of at least 0: "3%" or "0.03".
double parse_share(std::string_view text) {
  const std::string_view digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  const auto [end, error] = from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) ||
      value < 0) {
    fail("--fail-above {}: expected a share of at least 0, such as 3% or 0.03", text);
  }
  if (!text.ends_with('%') && value > 1) {
    fail("--fail-above {0}: means {1} %; write {0}% or {2}", text, 100 * value, value / 100);
  }
  return text.ends_with('%') ? value / 100 : value;
}

// Returns whether a folder holds logs of runs. Files hold benchmark results.
bool holds_results(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) fail("{}: is {}", path.string(), what_is_at(path));
  if (!fs::is_directory(path, ignored)) return false;
  compliance::ListingProblems problems;
  return !compliance::find_result_folders(path, &problems).empty();
}

// Returns the paths without the folders that all of them begin and end with.
std::vector<std::string> short_names(const std::vector<fs::path>& paths) {
  std::vector<std::vector<std::string>> parts;
  for (const fs::path& path : paths) {
    parts.emplace_back();
    for (const fs::path& part : path.lexically_normal()) {
      if (!part.empty()) parts.back().push_back(part.string());
    }
  }
  const auto all_same = [&](auto part_of) {
    for (const auto& each : parts) {
      if (each.size() < 2 || part_of(each) != part_of(parts.front())) return false;
    }
    return true;
  };
  while (all_same([](const auto& each) { return each.front(); })) {
    for (auto& each : parts) each.erase(each.begin());
  }
  while (all_same([](const auto& each) { return each.back(); })) {
    for (auto& each : parts) each.pop_back();
  }
  std::vector<std::string> names;
  for (const auto& each : parts) {
    fs::path name;
    for (const std::string& part : each) name /= part;
    names.push_back(name.string());
  }
  return names;
}

std::vector<compare::Comparison> compare_result_sides(const CompareOptions& options,
                                                      const std::vector<std::string>& names) {
  if (!options.only.empty())
    fail("--only applies to numbers of 'strata bench --json', but these are runs");
  compliance::ListingProblems problems;
  std::vector<compare::ResultSide> sides;
  for (size_t i = 0; i < options.sides.size(); ++i) {
    Progress progress("reading logs of " + names[i]);
    sides.push_back(compare::read_result_side(options.sides[i],
                                              score_options(options.rules, progress, problems)));
    sides.back().name = names[i];
  }
  refuse(problems);
  for (const auto& [benchmark, folder] : sides.front().folders) {
    for (const compare::ResultSide& side : sides) {
      if (options.fail_above && !side.folders.contains(benchmark)) {
        fail("--fail-above: {} has no result of {}, which {} has", side.name, benchmark,
             sides.front().name);
      }
    }
  }
  std::vector<compare::Comparison> comparisons;
  for (size_t i = 1; i < sides.size(); ++i) {
    for (auto& each : compare::compare_results(sides.front(), sides[i])) {
      comparisons.push_back(std::move(each));
    }
  }
  return comparisons;
}

std::vector<compare::Comparison> compare_measurement_sides(const CompareOptions& options,
                                                           const std::vector<std::string>& names) {
  std::vector<compare::MeasurementSide> sides;
  for (size_t i = 0; i < options.sides.size(); ++i) {
    sides.push_back(compare::read_measurement_side(options.sides[i]));
    sides.back().name = names[i];
  }
  std::vector<compare::Comparison> comparisons;
  for (size_t i = 1; i < sides.size(); ++i) {
    comparisons.push_back(compare::compare_measurements(sides.front(), sides[i], options.only));
  }
  return comparisons;
}

// Returns 1 and names the quantity if a side is clearly worse than the first by more than the
// share.
int judge(const std::vector<compare::Comparison>& comparisons,
          const std::optional<std::string>& fail_above) {
  if (!fail_above) return 0;
  const double share = parse_share(*fail_above);
  int exit_code = 0;
  for (const compare::Comparison& comparison : comparisons) {
    const bool scored =
        !comparison.judged_first || comparison.quantities.front().difference().has_value();
    if (!scored) {
      fail("--fail-above: {} of {}: no score, because too few runs count",
           one_line(comparison.what),
           one_line(comparison.quantities.front().base.center() ? comparison.other
                                                                : comparison.base));
    }
    for (const compare::Quantity* quantity : comparison.worse_than(share)) {
      fmt::print(stderr,
                 "strata: {}: {} of {} is {:.2f} % worse than that of {}; the limit is {}\n",
                 one_line(comparison.what), quantity->name, one_line(comparison.other),
                 100 * *quantity->worse_by(), one_line(comparison.base), *fail_above);
      exit_code = 1;
    }
  }
  return exit_code;
}

int compare_sides(const CompareOptions& options) {
  if (options.sides.size() < 2) fail("compare: name at least two sides, A and B");
  if (options.fail_above) parse_share(*options.fail_above);
  const bool results = holds_results(options.sides.front());
  for (size_t i = 1; i < options.sides.size(); ++i) {
    const fs::path& side = options.sides[i];
    if (holds_results(side) != results) {
      fail("{} holds results of runs and {} does not, so they cannot be compared",
           (results ? options.sides.front() : side).string(),
           (results ? side : options.sides.front()).string());
    }
  }
  const std::vector<std::string> names = short_names(options.sides);
  const std::vector<compare::Comparison> comparisons =
      results ? compare_result_sides(options, names) : compare_measurement_sides(options, names);
  if (!options.csv_file.empty())
    write_output(options.csv_file, compare::comparison_csv(comparisons));
  if (options.json) {
    print_or_write(options.output, compare::comparison_json(comparisons));
  } else {
    print_or_write(options.output,
                   printable_lines(options.markdown ? compare::comparison_markdown(comparisons)
                                                    : compare::comparison_text(comparisons)));
  }
  return judge(comparisons, options.fail_above);
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Say whether B is faster than A, how certain this is, and where the difference comes from");
  const auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("SIDES", options->sides,
                   "A, then B and more, each compared with A: folders of result_N.txt, or systems; "
                   "or files with outputs of 'strata bench ... --json' (ideally of nine runs or "
                   "more), or folders of such files")
      ->required();
  command->add_option(
      "--fail-above", options->fail_above,
      "Exit with 1 if a side is worse than A by more than this share, such as 3%. If there are "
      "enough runs for a test, the difference must also be significant. Judges the score, or for "
      "JSON every number shown");
  command
      ->add_option("--only", options->only,
                   "Only numbers of 'strata bench --json' whose name contains this (repeatable)")
      ->expected(1)
      ->take_all();
  add_rule_options(*command, options->rules);
  names_output(command->add_option("--csv", options->csv_file,
                                   "Also write the differences to this file as CSV"));
  const auto json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--markdown", options->markdown, "Print Markdown")->excludes(json);
  add_output_option(*command, options->output);
  command->footer(
      "A difference is B's mean divided by A's, minus 1. Times to train have olympic means, as\n"
      "scores do. The interval is from Student's t. U and p are from the two-sided Mann-Whitney\n"
      "test.");
  command->callback([options, &exit_code] { exit_code = compare_sides(*options); });
}

}  // namespace strata::cli
