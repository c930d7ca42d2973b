#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "cli/check/verdicts.h"
#include "cli/output/listing.h"
#include "compliance/package/repository.h"
#include "compliance/package/system_description.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using compliance::ListingProblems;
using compliance::Section;

// Reads the round from the results of the system that the description names, else from all results
// of its submission.
compliance::RulesetChoice choose_ruleset_of_system(const CheckOptions& options,
                                                   const fs::path& description) {
  const fs::path results = fs::absolute(description).parent_path().parent_path() / "results";
  std::error_code ignored;
  for (const fs::path& tree : {results / description.stem(), results}) {
    if (!fs::is_directory(tree, ignored)) continue;
    try {
      return compliance::infer_ruleset_of_tree(tree, options.usage, options.ruleset);
    } catch (const Error&) {
      // The path may name the round.
    }
  }
  auto choice = compliance::infer_ruleset_from_path(description, options.usage);
  if (choice.usage.empty()) choice.usage = "training";
  if (!options.ruleset.empty()) choice.ruleset = options.ruleset;
  if (fs::is_directory(description, ignored)) {
    fail("{}: is a folder; give the system descriptions in it: systems/*.json",
         description.string());
  }
  if (choice.ruleset.empty()) {
    fail(
        "{}: cannot infer the ruleset: neither its path nor the results of its system name a "
        "round; give --ruleset",
        description.string());
  }
  return choice;
}

}  // namespace

int check_systems(const CheckOptions& options) {
  std::vector<Section> sections;
  ListingProblems problems;
  std::error_code ignored;
  for (const std::string& path : options.paths) {
    const auto choice = choose_ruleset_of_system(options, path);
    sections.push_back(compliance::check_system_description(path, choice.usage, choice.ruleset));
    sections.back().title += fmt::format(" ({} {})", choice.usage, choice.ruleset);
    if (!fs::is_regular_file(path, ignored))
      problems.push_back(fmt::format("{}: is {}, not a description", path, what_is_at(path)));
  }
  const int exit_code = print_sections(sections, options);
  refuse(problems);
  return exit_code;
}

int check_repository(const CheckOptions& options) {
  return print_sections({compliance::check_repository(options.paths.front())}, options);
}

}  // namespace strata::cli
