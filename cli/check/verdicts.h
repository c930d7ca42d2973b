// The printing of verdicts, and which round they are about.
#pragma once

#include <string>
#include <vector>

#include "cli/check/options.h"
#include "cli/options/outputs.h"
#include "compliance/checks/outcome.h"
#include "compliance/checks/rounds.h"
#include "compliance/formats/formats.h"
#include "compliance/package/section.h"

namespace strata::cli {

int exit_code_of(compliance::Outcome outcome, const CheckOptions& options);

// Prints verdicts, and writes them to the file that --log-output names.
void show(const CheckOptions& options, const std::string& verdicts);

// Prints sections and returns the exit code of all.
int print_sections(std::vector<compliance::Section> sections, const CheckOptions& options);

// Writes the files that --sarif and --junit name. Prints if --github asks for it, and returns
// whether it did.
template <typename Verdicts>
bool write_formats(const CheckOptions& options, const Verdicts& verdicts) {
  if (options.sarif.empty() && options.junit.empty() && !options.github) return false;
  const std::vector<compliance::Case> cases = compliance::cases_of(verdicts);
  if (!options.sarif.empty()) write_output(options.sarif, compliance::sarif(cases));
  if (!options.junit.empty()) write_output(options.junit, compliance::junit(cases));
  if (options.github) show(options, compliance::github(cases));
  return options.github;
}

// Returns usage and ruleset as given, or inferred from the path or from its logs, and prints what
// was inferred.
compliance::RulesetChoice choose_ruleset(const CheckOptions& options, const std::string& path);

}  // namespace strata::cli
