// Where a submission's files lie.
#pragma once

#include <filesystem>
#include <string>

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

// Makes the directories and checks, before anything is trained, that they can be written to and
// that none of the results of `experiments` experiments is there already. Throws Error otherwise.
void prepare_result_tree(const ResultTree& tree, int experiments);

}  // namespace strata::harness
