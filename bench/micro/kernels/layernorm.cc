#include "bench/devices/operands.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

constexpr int64_t kLength = 128;
const device::Dropout kDropout{0.1f, 7};

void layernorm_forward(benchmark::State& state, DType dtype) {
  const int64_t tokens = state.range(0), hidden = state.range(1);
  const auto backend = cpu_backend(dtype);
  Operands operands(*backend);
  const EqualSequences sequences(tokens / kLength, kLength);
  const Tensor x = operands.compute(tokens, hidden), residual = operands.compute(tokens, hidden),
               gamma = operands.compute(1, hidden), beta = operands.compute(1, hidden),
               normalized = operands.compute(tokens, hidden), y = operands.compute(tokens, hidden),
               inverse_stddev = operands.positive(tokens);
  for (auto _ : state) {
    backend->residual_layernorm_forward(Stream::kCompute, {.x = x,
                                                           .residual = residual,
                                                           .gamma = gamma,
                                                           .beta = beta,
                                                           .dropout = kDropout,
                                                           .sequences = sequences.get(),
                                                           .normalized = normalized,
                                                           .inverse_stddev = inverse_stddev,
                                                           .y = y});
    backend->synchronize(Stream::kCompute);
  }
  count_work(state, 0, bytes_of({x, residual, normalized, inverse_stddev, y}));
}

void layernorm_backward(benchmark::State& state, DType dtype) {
  const int64_t tokens = state.range(0), hidden = state.range(1);
  const auto backend = cpu_backend(dtype);
  Operands operands(*backend);
  const EqualSequences sequences(tokens / kLength, kLength);
  const Tensor dy = operands.compute(tokens, hidden), normalized = operands.compute(tokens, hidden),
               gamma = operands.compute(1, hidden), d_x = operands.compute(tokens, hidden),
               d_residual = operands.compute(tokens, hidden),
               inverse_stddev = operands.positive(tokens), d_gamma = operands.master(1, hidden),
               d_beta = operands.master(1, hidden);
  for (auto _ : state) {
    backend->residual_layernorm_backward(Stream::kCompute, {.dy = dy,
                                                            .normalized = normalized,
                                                            .inverse_stddev = inverse_stddev,
                                                            .gamma = gamma,
                                                            .dropout = kDropout,
                                                            .sequences = sequences.get(),
                                                            .d_x = d_x,
                                                            .d_residual = d_residual,
                                                            .d_gamma = d_gamma,
                                                            .d_beta = d_beta});
    backend->synchronize(Stream::kCompute);
  }
  count_work(state, 0, bytes_of({dy, normalized, inverse_stddev, d_x, d_residual}));
}

void layernorm_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "hidden"})
      ->Args({2048, 1024})
      ->Args({2048, 384})
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

void add_layernorm() {
  for_each_dtype([](DType dtype) {
    const std::string name = name_of(dtype);
    benchmark::RegisterBenchmark(("residual_layernorm_forward/" + name).c_str(), layernorm_forward,
                                 dtype)
        ->Apply(layernorm_shapes);
    benchmark::RegisterBenchmark(("residual_layernorm_backward/" + name).c_str(),
                                 layernorm_backward, dtype)
        ->Apply(layernorm_shapes);
  });
}

}  // namespace strata::bench::micro
