#include "bench/devices/operands.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

// Measures what comm::BucketArithmetic issues for a bucket ahead of its all-reduce with
// clip.mode=bucket_before_allreduce: the norm, then clipping, in place or into the reduced dtype.
void bucket_clip(benchmark::State& state, DType reduce_dtype) {
  const int64_t size = state.range(0);
  const auto backend = cpu_backend(reduce_dtype);
  Operands operands(*backend);
  const Tensor gradients = operands.master(1, size),
               reduced = reduce_dtype == gradients.dtype ? gradients : operands.compute(1, size);
  auto* norm = operands.zeros<double>();
  for (auto _ : state) {
    backend->fill_zero(Stream::kCompute, norm, sizeof *norm);
    backend->l2_norm_squared(Stream::kCompute, {.x = gradients, .norm_squared = norm});
    backend->clip_to_norm(
        Stream::kCompute,
        {.x = gradients, .norm_squared = norm, .max_norm = 1e-3f, .destination = reduced});
    backend->synchronize(Stream::kCompute);
  }
  count_work(state, 0, 2 * bytes_of({gradients}) + bytes_of({reduced}));
}

}  // namespace

void add_bucket_clip() {
  for_each_dtype([](DType dtype) {
    benchmark::RegisterBenchmark((std::string("bucket_clip/") + name_of(dtype)).c_str(),
                                 bucket_clip, dtype)
        ->ArgName("elements")
        ->Arg(1 << 16)
        ->Arg(6'250'000)  // 25 MB, the default of reduce.bucket_bytes
        ->Unit(benchmark::kMicrosecond);
  });
}

}  // namespace strata::bench::micro
