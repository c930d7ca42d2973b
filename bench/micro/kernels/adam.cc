#include "bench/devices/operands.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

// Measures one pass with clipping.
void adam_update(benchmark::State& state, DType dtype) {
  const int64_t size = state.range(0);
  const auto backend = cpu_backend(dtype);
  Operands operands(*backend);
  const Tensor weights = operands.master(1, size), gradients = operands.master(1, size),
               first = operands.master(1, size), second = operands.positive(size),
               compute = dtype == weights.dtype ? Tensor{} : operands.compute(1, size);
  auto* norm = operands.zeros<double>();
  *norm = 4;
  for (auto _ : state) {
    backend->adam_update(Stream::kCompute, {.weights = weights,
                                            .compute_weights = compute,
                                            .gradients = gradients,
                                            .first_moment = first,
                                            .second_moment = second,
                                            .learning_rate = 1e-6f,
                                            .weight_decay = 0.01f,
                                            .clip = {.norm_squared = norm}});
    backend->synchronize(Stream::kCompute);
  }
  count_work(state, 0, 2 * bytes_of({weights, first, second}) + bytes_of({gradients, compute}));
}

}  // namespace

void add_adam() {
  for_each_dtype([](DType dtype) {
    benchmark::RegisterBenchmark((std::string("adam_update/") + name_of(dtype)).c_str(),
                                 adam_update, dtype)
        ->ArgName("elements")
        ->Arg(1 << 16)
        ->Arg(1 << 22)
        ->Unit(benchmark::kMicrosecond);
  });
}

}  // namespace strata::bench::micro
