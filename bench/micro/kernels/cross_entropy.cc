#include "bench/devices/operands.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

// Measures the loss with gradients: three GEMMs, and the cross-entropy between them.
void classifier_loss(benchmark::State& state, DType dtype) {
  const int64_t rows = state.range(0), hidden = state.range(1), classes = state.range(2);
  const auto backend = cpu_backend(dtype);
  Operands operands(*backend);
  const Tensor x = operands.compute(rows, hidden), weight = operands.compute(classes, hidden),
               bias = operands.compute(1, classes), d_x = operands.compute(rows, hidden),
               d_weight = operands.master(classes, hidden), d_bias = operands.master(1, classes);
  std::vector<int32_t> labels;
  for (int64_t row = 0; row < rows; ++row) {
    labels.push_back(static_cast<int32_t>(row * 7919 % classes));
  }
  auto* totals = operands.zeros<device::LossTotals>();
  for (auto _ : state) {
    backend->classifier_loss(Stream::kCompute, {.x = x,
                                                .weight = weight,
                                                .bias = bias,
                                                .labels = labels.data(),
                                                .gradient_scale = 1.0f / static_cast<float>(rows),
                                                .d_x = d_x,
                                                .d_weight = d_weight,
                                                .d_bias = d_bias,
                                                .totals = totals});
    backend->synchronize(Stream::kCompute);
  }
  count_work(state, 3 * 2.0 * static_cast<double>(rows * hidden * classes),
             bytes_of({x, weight, bias, d_x, d_weight, d_bias}));
}

}  // namespace

void add_cross_entropy() {
  for_each_dtype([](DType dtype) {
    benchmark::RegisterBenchmark((std::string("classifier_loss/") + name_of(dtype)).c_str(),
                                 classifier_loss, dtype)
        ->ArgNames({"masked", "hidden", "classes"})
        ->Args({76, 384, 30522})
        ->Args({304, 384, 30522})
        ->Unit(benchmark::kMillisecond);
  });
}

}  // namespace strata::bench::micro
