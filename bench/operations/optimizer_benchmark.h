// The speed of the optimizer's update of a model's arena, compared with a plain pass over the same
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/run_config.h"

namespace strata::bench {

// Medians over the rounds, in seconds. Every round measures all of them in turn.
struct OptimizerBenchmark {
  std::string device;
  int64_t parameters = 0;    // elements of the arena
  int64_t memory_bytes = 0;  // size of all arrays
  int64_t update_bytes = 0;  // bytes read and written, each array once per pass
  double norm = 0;           // l2_norm_squared of the gradients
  double update = 0;         // clip by that norm, update, decay, compute weights
  double norm_and_update = 0;
  double plain = 0;  // the update's reads and writes, with the same threads and instruction set

  double update_bytes_per_second() const { return static_cast<double>(update_bytes) / update; }
  double plain_bytes_per_second() const { return static_cast<double>(update_bytes) / plain; }
  double share_of_plain() const { return plain / update; }
};

// Uses the model.config, model.precision, device and optimizer of `config`. Calls `on_round` with
// the number of finished rounds. Throws Error for a backend other than cpu.
OptimizerBenchmark benchmark_optimizer(const config::RunConfig& config, int rounds,
                                       const std::function<void(int)>& on_round = {});

// Returns the bytes that benchmark_optimizer(config, ...) will allocate.
int64_t optimizer_benchmark_bytes(const config::RunConfig& config);

}  // namespace strata::bench
