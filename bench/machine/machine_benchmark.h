// One row about a machine: its processor's peaks, and how much of them steps, attention and the
// optimizer reach.
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
  // Presets or files. Attention and the optimizer use the first one.
  std::vector<std::string> models = {"bert-large", "minilm"};
  std::vector<int64_t> tokens = {2048, 4096};  // sizes of a micro-batch, for every model
  int steps = 5;                               // steps per model and size, after two not measured
  int rounds = 7;                              // rounds of everything else
  std::optional<int> threads;                  // absent: one per processor
};

struct StepShare {
  std::string model;
  int64_t tokens = 0;
  double seconds = 0;
  double flops_per_second = 0;              // FLOPs of the model
  double matrix_peak_flops_per_second = 0;  // measured between the steps

  double share() const { return flops_per_second / matrix_peak_flops_per_second; }
};

// Medians, in FLOPs and bytes per second.
struct MachineBenchmark {
  harness::Machine machine;
  std::string device;
  std::vector<std::pair<std::string, std::string>> libraries;  // names and versions
  std::string precision;  // dtype of steps and attention: bf16 if it is native, else fp32
  double f32_matrix_peak = 0;
  std::optional<double> bf16_matrix_peak;  // absent: not native
  double copy_peak = 0;
  std::vector<StepShare> steps;
  struct Attention {
    int64_t length = 0;  // tokens of every sequence
    int64_t head_size = 0;
    double forward_share = 0, backward_share = 0;  // shares of the matrix peak
  } attention;
  struct Optimizer {
    std::string model;
    double bytes_per_second = 0;        // Adam's update
    double plain_bytes_per_second = 0;  // a plain loop over the same memory

    // Above 1 if a copy's writes cost more: they first read the memory that they overwrite. An
    // update has read it already.
    double share_of(double copy) const { return bytes_per_second / copy; }
    double share_of_plain() const { return bytes_per_second / plain_bytes_per_second; }
  } optimizer;
};

// Runs on the CPU backend with one rank. Calls `describe` with the next measurement's name. Throws
// Error if a model cannot be read.
MachineBenchmark benchmark_machine(const MachineBenchmarkOptions& options,
                                   const std::function<void(const std::string&)>& describe);

}  // namespace strata::bench
