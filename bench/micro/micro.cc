#include "bench/micro/micro.h"

#include "device/registry/backends.h"

namespace strata::bench::micro {

std::unique_ptr<device::Backend> cpu_backend(device::DType compute_dtype) {
  return device::make_backend({.name = "cpu", .compute_dtype = compute_dtype, .threads = 1});
}

void for_each_dtype(const std::function<void(device::DType)>& add) {
  add(device::DType::kF32);
  if (device::find_backend("cpu").bf16_is_native()) add(device::DType::kBF16);
}

void count_work(benchmark::State& state, double flops, double bytes) {
  using benchmark::Counter;
  if (flops > 0) {
    state.counters["flops_per_second"] = Counter(flops, Counter::kIsIterationInvariantRate);
  }
  if (bytes > 0) {
    state.counters["bytes_per_second"] =
        Counter(bytes, Counter::kIsIterationInvariantRate, Counter::kIs1024);
  }
}

EqualSequences::EqualSequences(int64_t count, int64_t length) {
  for (int64_t i = 0; i <= count; ++i) cu_seqlens_.push_back(static_cast<int32_t>(i * length));
  for (int64_t i = 0; i < count; ++i) sample_ids_.push_back(static_cast<uint64_t>(i));
  sequences_ = {.count = static_cast<int32_t>(count),
                .tokens = static_cast<int32_t>(count * length),
                .max_length = static_cast<int32_t>(length),
                .min_length = static_cast<int32_t>(length),
                .cu_seqlens = cu_seqlens_.data(),
                .sample_ids = sample_ids_.data()};
}

}  // namespace strata::bench::micro
