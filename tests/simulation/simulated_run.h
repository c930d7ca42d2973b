// One seed of the simulation: a run that dies, is damaged, is resumed, and must end as one that
// nothing happened to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/simulated_job.h"

namespace strata::simulation {

// Weights and losses, which must have the same bits, of a run.
struct Outcome {
  int64_t moments = 0;              // that it had
  std::string weights;              // the bytes of the saved file
  std::vector<std::string> losses;  // of every step
};

struct Simulated {
  std::string story;                  // what happened, on one line
  std::vector<std::string> problems;  // none: as it should be
};

class Simulation {
 public:
  // Writes data and model below `folder`, which lives as long.
  explicit Simulation(std::filesystem::path folder);

  Simulated run(uint64_t seed);

 private:
  config::RunConfig draw_config(uint64_t seed, int ranks);
  const Outcome& uninterrupted(const Job& job);

  std::filesystem::path folder_;
  std::map<std::string, Outcome> whole_;  // by what decides the bits
};

}  // namespace strata::simulation
