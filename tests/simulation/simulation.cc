// Runs the benchmark on simulated devices and ranks, with pauses, deaths and damaged files drawn
// from seeds. Prints a line for each seed that fails.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/timing.h"
#include "tests/simulation/simulated_run.h"

namespace {

int simulate(int argc, char** argv) {
  using namespace strata;
  CLI::App app(
      "Trains whole runs on simulated devices and ranks: streams run late and in any order that "
      "events allow, ranks pause and die, files are damaged. Each run is resumed and must end with "
      "the bits of one that nothing happened to. Exit code 1: a seed did not.");
  uint64_t first = 1, count = 100;
  bool tell = false;
  app.add_option("--first", first, "The first seed");
  app.add_option("--seeds", count, "How many; 1 replays a seed");
  app.add_flag("--tell", tell, "Print what happened in every seed");
  CLI11_PARSE(app, argc, argv);

  ::setenv("OMP_NUM_THREADS", "1", 1);
  std::string folder =
      (std::filesystem::temp_directory_path() / "strata-simulation.XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 2;
  simulation::Simulation simulation{folder};
  uint64_t failed = 0, resumed = 0;
  auto last_told = Clock::now();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const simulation::Simulated result = simulation.run(seed);
    resumed += result.story.find("; resumed") != std::string::npos ? 1 : 0;
    if (tell || !result.problems.empty()) fmt::print("seed {}: {}\n", seed, result.story);
    for (const std::string& problem : result.problems) fmt::print("  {}\n", problem);
    failed += result.problems.empty() ? 0 : 1;
    if (seconds_since(last_told) > 10) {
      fmt::print(stderr, "{} of {} seeds\n", seed - first + 1, count);
      last_told = Clock::now();
    }
    std::fflush(stdout);
  }
  fmt::print("{} seeds, {} went on from a checkpoint, {} failed\n", count, resumed, failed);
  std::filesystem::remove_all(folder);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return simulate(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "simulation: {}\n", error.what());
    return 2;
  }
}
