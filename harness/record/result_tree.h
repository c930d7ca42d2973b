// Where a submission's files lie.
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
  std::filesystem::path log(int experiment) const;         // result_N.txt
  std::filesystem::path config(int experiment) const;      // result_N.yaml, resolved
  std::filesystem::path step_trace(int experiment) const;  // result_N.steps.jsonl
  std::filesystem::path timeline(int experiment) const;    // result_N.timeline.json
  std::filesystem::path checkpoint(int experiment) const;  // result_N.safetensors
};

// What becomes of results that are there already.
enum class ExistingResults : uint8_t { kRefuse, kKeep };

// Makes the directories and checks, before anything is trained, that they can be written to.
// Returns the results of the experiments 0 ... `experiments` - 1 that are there already. Throws
// Error where a directory cannot be written to, where there are results and they are refused, and
// as read_experiment_result does.
std::vector<ExperimentResult> prepare_result_tree(
    const ResultTree& tree, int experiments, ExistingResults existing = ExistingResults::kRefuse);

}  // namespace strata::harness
