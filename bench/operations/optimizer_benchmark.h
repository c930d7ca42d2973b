// How fast the configured optimizer updates a model's arena, against a plain pass over the same
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/run_config.h"

namespace strata::bench {

// Medians over the rounds, in seconds. Every round measures all of them, in turns.
struct OptimizerBenchmark {
  std::string device;
  int64_t parameters = 0;    // elements of the arena
  int64_t memory_bytes = 0;  // all arrays together
  int64_t update_bytes = 0;  // that an update reads and writes, each array counted once a pass
  double norm = 0;           // l2_norm_squared of the gradients
  double update = 0;         // clip by that norm, update, decay, compute weights
  double norm_and_update = 0;
  double plain = 0;  // the update's reads and writes, same threads and instruction set

  double update_bytes_per_second() const { return static_cast<double>(update_bytes) / update; }
  double plain_bytes_per_second() const { return static_cast<double>(update_bytes) / plain; }
  double share_of_plain() const { return plain / update; }
};

// Uses `config`'s model.config, model.precision, device and optimizer. `on_round` is told how many
// of the `rounds` are done. Throws Error for a backend other than cpu.
OptimizerBenchmark benchmark_optimizer(const config::RunConfig& config, int rounds,
                                       const std::function<void(int)>& on_round = {});

// What benchmark_optimizer(config, ...) will allocate.
int64_t optimizer_benchmark_bytes(const config::RunConfig& config);

}  // namespace strata::bench
