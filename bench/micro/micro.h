// What micro-benchmarks share. A name is that of an operation of device::Backend or of a hot path,
// then dtype or variant, then the shape.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"

namespace strata::bench::micro {

// One file each: they register what is to be measured.
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

// The CPU backend on one thread.
std::unique_ptr<device::Backend> cpu_backend(device::DType compute_dtype);

// Calls `add` with f32, and with bf16 where the processor multiplies it.
void for_each_dtype(const std::function<void(device::DType)>& add);

// Work of one iteration, as the counters flops_per_second and bytes_per_second; 0: no such counter.
// Bytes are those that must be read and written at least, FLOPs those of the model's GEMMs.
void count_work(benchmark::State& state, double flops, double bytes);

// Sequences of one length, in host memory that this owns.
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
