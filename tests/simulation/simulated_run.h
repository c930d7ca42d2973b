// One seed of the simulation: a run dies, is damaged and is resumed. It must end like an
// undisturbed run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/simulated_job.h"

namespace strata::simulation {

// A run's weights and losses, which must have the same bits.
struct Outcome {
  int64_t moments = 0;              // number of moments
  std::string weights;              // bytes of the saved file
  std::vector<std::string> losses;  // one per step
};

struct Simulated {
  std::string story;                  // one line about the events
  std::vector<std::string> problems;  // empty: no problem
};

class Simulation {
 public:
  // Writes data and model below `folder`, which must outlive the object.
  explicit Simulation(std::filesystem::path folder);

  Simulated run(uint64_t seed);

 private:
  config::RunConfig draw_config(uint64_t seed, int ranks);
  const Outcome& uninterrupted(const Job& job);

  std::filesystem::path folder_;
  std::map<std::string, Outcome> whole_;  // by the settings that decide the bits
};

}  // namespace strata::simulation
