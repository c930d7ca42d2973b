// A machine in one row: what its processor reaches at best, and how much of that steps, attention
// and the optimizer reach.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/host/machine.h"

namespace strata::bench {

struct MachineBenchmarkOptions {
  // Presets or files; attention and the optimizer are the first one's.
  std::vector<std::string> models = {"bert-large", "minilm"};
  std::vector<int64_t> tokens = {2048, 4096};  // a micro-batch, for every model
  int steps = 5;                               // of every model and size, after two not measured
  int rounds = 7;                              // of everything else
  std::optional<int> threads;                  // absent: one a processor
};

struct StepShare {
  std::string model;
  int64_t tokens = 0;
  double seconds = 0;
  double flops_per_second = 0;              // of the model
  double matrix_peak_flops_per_second = 0;  // measured between the steps

  double share() const { return flops_per_second / matrix_peak_flops_per_second; }
};

// Medians. FLOPs and bytes a second.
struct MachineBenchmark {
  harness::Machine machine;
  std::string device;
  std::vector<std::pair<std::string, std::string>> libraries;  // name, version
  std::string precision;  // of steps and attention: bf16 where it is native, else fp32
  double f32_matrix_peak = 0;
  std::optional<double> bf16_matrix_peak;  // absent: not native
  double copy_peak = 0;
  std::vector<StepShare> steps;
  struct Attention {
    int64_t length = 0;  // tokens of every sequence
    int64_t head_size = 0;
    double forward_share = 0, backward_share = 0;  // of the matrix peak
  } attention;
  struct Optimizer {
    std::string model;
    double bytes_per_second = 0;        // of Adam's update
    double plain_bytes_per_second = 0;  // of a plain loop over the same memory

    // Above 1 where a copy's writes cost more: they read what they overwrite, which an update has
    // read already.
    double share_of(double copy) const { return bytes_per_second / copy; }
    double share_of_plain() const { return bytes_per_second / plain_bytes_per_second; }
  } optimizer;
};

// On the CPU backend and one rank. `describe` is told what comes next. Throws Error for a model
// that cannot be read.
MachineBenchmark benchmark_machine(const MachineBenchmarkOptions& options,
                                   const std::function<void(const std::string&)>& describe);

}  // namespace strata::bench
