// A whole benchmark in a temporary directory: text, vocabulary, data, model and configuration. The
// real program runs it in a second or two.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.h"
#include "tests/support/built_files.h"

namespace strata::cli {

inline const std::string kStrata = testing_support::strata_program();
inline const std::string kMpirun = STRATA_SOURCE_DIR "/scripts/mpirun.sh";

// One line of a log, without ":::MLLOG ".
using Event = nlohmann::json;

class SmallBenchmark : public testing::Test {
 protected:
  // Writes text.txt, vocab.txt, model.json and run.yaml, and runs `strata data prepare` to make
  // train.hdf5 and eval.hdf5.
  SmallBenchmark();
  ~SmallBenchmark() override;

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  // Returns the command `strata` with these arguments; several ranks use scripts/mpirun.sh.
  std::vector<std::string> command(const std::vector<std::string>& arguments, int ranks = 1) const;
  ProcessResult strata(const std::vector<std::string>& arguments, int ranks = 1,
                       const ProcessOptions& options = {}) const;
  // Returns `strata train --config run.yaml` with these overrides and options.
  std::vector<std::string> train(const std::vector<std::string>& more = {}) const;

  // Return files below <output>/Strata/results/small/bert, and the system description.
  std::filesystem::path result(const std::string& name) const;
  std::filesystem::path system_description() const;
  // Fails the test if a line is incomplete.
  std::vector<Event> events(const std::filesystem::path& log) const;
  std::vector<Event> events() const { return events(result("result_0.txt")); }
  // Ignores an incomplete last line, which the run may be writing.
  std::vector<Event> events_so_far() const;
  // Returns all files in the output directory, sorted, relative to it.
  std::vector<std::string> output_files() const;

  const std::filesystem::path directory_;

 private:
  static std::vector<Event> parse(const std::string& log);
};

// Returns the values of all events of `key`.
std::vector<nlohmann::json> values_of(const std::vector<Event>& events, const std::string& key);
// Returns the keys of interval and accuracy events in order, "run_start eval_start ...".
std::string timeline(const std::vector<Event>& events);
// Returns whether the last event is run_stop with this status.
bool ends_with_run_stop(const std::vector<Event>& events, const std::string& status);

// Expects exit code 2 and exactly one line "strata: ..." that contains all `parts`.
void expect_refusal(const ProcessResult& result, const std::vector<std::string>& parts);

}  // namespace strata::cli
