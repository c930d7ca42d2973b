// Runs the tools like a user, on a submission with one run that passes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/cli/process.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/built_files.h"

namespace strata::cli {

using ::strata::testing::BertLog;

class Tools : public ::testing::Test {
 protected:
  Tools() { write_run("good", 0, BertLog::passing()); }

  static std::string run_name(int number) { return "result_" + std::to_string(number) + ".txt"; }
  std::string write_run(const std::string& system, int number, const BertLog& log) {
    return folder_.write("Acme/results/" + system + "/bert/" + run_name(number), log.text())
        .string();
  }
  std::string path(const std::string& name = "") const { return (folder_.path() / name).string(); }
  // Runs with a time limit that only a hang reaches.
  static ProcessResult strata(std::vector<std::string> words) {
    words.insert(words.begin(), testing_support::strata_program());
    return run(words, {}, std::chrono::seconds(60));
  }
  // Runs with only the rules and points below path("data"), if there are any, ignoring those on
  // this machine. `search` is PATH.
  ProcessResult strata_at_home(std::vector<std::string> words, const std::string& search = "") {
    words.insert(words.begin(), testing_support::strata_program());
    ProcessOptions options;
    options.environment = {{"HOME", path("home")},
                           {"XDG_DATA_HOME", path("data")},
                           {"VIRTUAL_ENV", ""},
                           {"CONDA_PREFIX", ""},
                           {"PYTHONPATH", ""}};
    if (!search.empty()) options.environment["PATH"] = search;
    return run(words, options, std::chrono::seconds(60));
  }
  // `redirection` is in shell syntax.
  static ProcessResult strata_to(const std::string& words, const std::string& redirection) {
    return run({"sh", "-c", testing_support::strata_program() + " " + words + " " + redirection},
               {}, std::chrono::seconds(60));
  }

  ::strata::testing::TemporaryFolder folder_;
};

}  // namespace strata::cli
