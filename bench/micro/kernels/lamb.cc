#include "bench/devices/operands.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

// Measures both halves for one tensor. The second half's directions are the next iteration's
// gradients, since the time does not depend on the numbers.
void lamb_update(benchmark::State& state, DType dtype) {
  const int64_t size = state.range(0);
  const auto backend = cpu_backend(dtype);
  Operands operands(*backend);
  const Tensor weights = operands.master(1, size), gradients = operands.master(1, size),
               first = operands.master(1, size), second = operands.positive(size),
               compute = dtype == weights.dtype ? Tensor{} : operands.compute(1, size);
  auto* norm = operands.zeros<double>();
  *norm = 4;
  auto* norms = operands.zeros<device::LambNorms>();
  for (auto _ : state) {
    backend->fill_zero(Stream::kCompute, norms, sizeof *norms);
    backend->lamb_direction(Stream::kCompute, {.weights = weights,
                                               .gradients = gradients,
                                               .first_moment = first,
                                               .second_moment = second,
                                               .weight_decay = 0.01f,
                                               .clip = {.norm_squared = norm},
                                               .norms = norms});
    backend->lamb_apply(Stream::kCompute, {.weights = weights,
                                           .compute_weights = compute,
                                           .directions = gradients,
                                           .norms = norms,
                                           .learning_rate = 1e-6f});
    backend->synchronize(Stream::kCompute);
  }
  count_work(state, 0,
             bytes_of({weights}) + 2 * bytes_of({gradients, first, second}) +
                 2 * bytes_of({weights}) + bytes_of({gradients, compute}));
}

}  // namespace

void add_lamb() {
  for_each_dtype([](DType dtype) {
    benchmark::RegisterBenchmark((std::string("lamb_update/") + name_of(dtype)).c_str(),
                                 lamb_update, dtype)
        ->ArgName("elements")
        ->Arg(1 << 16)
        ->Arg(1 << 22)
        ->Unit(benchmark::kMicrosecond);
  });
}

}  // namespace strata::bench::micro
