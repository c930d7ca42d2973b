// Helpers of micro-benchmarks. A benchmark is named after an operation of device::Backend or a hot
// path, then dtype or variant, then shape.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"

namespace strata::bench::micro {

// Register benchmarks, one function per file.
void add_adam();
void add_attention();
void add_bucket_clip();
void add_cross_entropy();
void add_hdf5_read();
void add_instances();
void add_lamb();
void add_layernorm();
void add_log_scan();
void add_planner();
void add_random_weights();
void add_rules();
void add_wordpiece();

// Returns the CPU backend on one thread.
std::unique_ptr<device::Backend> cpu_backend(device::DType compute_dtype);

// Calls `add` with f32, and with bf16 if the processor multiplies it.
void for_each_dtype(const std::function<void(device::DType)>& add);

// Sets the counters flops_per_second and bytes_per_second for the work of one iteration; 0 sets
// none. Bytes are the least that must be read and written, FLOPs those of the model's GEMMs.
void count_work(benchmark::State& state, double flops, double bytes);

// Sequences of one length, in host memory that the object owns.
class EqualSequences {
 public:
  EqualSequences(int64_t count, int64_t length);
  const device::Sequences& get() const { return sequences_; }

 private:
  std::vector<int32_t> cu_seqlens_;
  std::vector<uint64_t> sample_ids_;
  device::Sequences sequences_;
};

}  // namespace strata::bench::micro
