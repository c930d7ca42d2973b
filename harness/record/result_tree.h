// The paths of a submission's files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/record/experiment_result.h"

namespace strata::harness {

// <output>/<organization>/{results/<system>/bert/result_N.*, systems/<system>.json}.
struct ResultTree {
  std::filesystem::path output;
  std::string organization;
  std::string system;

  std::filesystem::path results() const;
  std::filesystem::path system_description() const;
  std::filesystem::path log(int experiment) const;          // result_N.txt
  std::filesystem::path config(int experiment) const;       // result_N.yaml, resolved
  std::filesystem::path step_trace(int experiment) const;   // result_N.steps.jsonl
  std::filesystem::path tensorboard(int experiment) const;  // result_N.tensorboard, a folder
  std::filesystem::path timeline(int experiment) const;     // result_N.timeline.json
  std::filesystem::path checkpoint(int experiment) const;   // result_N.safetensors
  // result_N.checkpoints, a folder of checkpoints to resume from.
  std::filesystem::path checkpoints(int experiment) const;
};

// The treatment of existing results. kRefuse refuses them. kKeep keeps finished ones and repeats
// interrupted experiments; kResume resumes these from their last checkpoint, if there is one.
enum class ExistingResults : uint8_t { kRefuse, kKeep, kResume };

// Makes the directories and checks, before any training, that they can be written to. Throws Error
// if one cannot.
void prepare_result_tree(const ResultTree& tree);

// The results and files that experiments 0 ... `experiments` - 1 have left.
struct FoundResults {
  std::vector<ExperimentResult> results;
  std::vector<int> interrupted;  // experiments whose log has run_start, but no result, or is empty
  std::vector<int> not_begun;    // experiments whose log has events, but no run_start
  std::vector<int> without_log;  // experiments without a log, but with files of an earlier run

  bool empty() const { return results.empty() && interrupted.empty(); }
};

// Throws Error as read_experiment_result does. With kRefuse, also throws if any file of an
// experiment, or a link in its place, exists, except the log and configuration of a run that has
// not begun (see not_begun), and except empty files and folders other than an empty log.
FoundResults find_results(const ResultTree& tree, int experiments,
                          ExistingResults existing = ExistingResults::kRefuse);

// Removes the log of a run that has not begun, and its configuration.
void remove_not_begun(const std::filesystem::path& log) noexcept;

// Throws Error if a link is in the place of one of the experiment's files.
void refuse_links(const ResultTree& tree, int experiment);

// Archives an interrupted experiment: renames all its files, so that it can be run again and no
// tool takes them for results. Returns the log's new path: result_N.txt.interrupted.1, or the next
// free number. Throws Error if they cannot be renamed.
std::filesystem::path archive(const ResultTree& tree, int experiment);
// Copies an interrupted experiment's log and step trace to result_N.*.interrupted.1, or the next
// free number. Call before cutting both back to a checkpoint. Returns the log's copy.
std::filesystem::path copy_to_archive(const ResultTree& tree, int experiment);

}  // namespace strata::harness
