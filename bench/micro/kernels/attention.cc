#include "bench/devices/operands.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;

void attention(benchmark::State& state, DType dtype, bool backward) {
  const int64_t length = state.range(0), count = state.range(1), heads = state.range(2),
                hidden = heads * state.range(3), tokens = count * length;
  const auto backend = cpu_backend(dtype);
  Operands operands(*backend);
  const EqualSequences sequences(count, length);
  const Tensor qkv = operands.compute(tokens, 3 * hidden),
               context = operands.compute(tokens, hidden),
               d_context = operands.compute(tokens, hidden),
               log_sum_exp = operands.master(tokens, heads),
               d_qkv = operands.compute(tokens, 3 * hidden);
  const device::Dropout dropout{0.1f, 7};
  const auto forward = [&] {
    backend->attention_forward(Stream::kCompute, {.qkv = qkv,
                                                  .sequences = sequences.get(),
                                                  .heads = static_cast<int32_t>(heads),
                                                  .dropout = dropout,
                                                  .context = context,
                                                  .log_sum_exp = log_sum_exp});
    backend->synchronize(Stream::kCompute);
  };
  forward();
  for (auto _ : state) {
    if (!backward) {
      forward();
      continue;
    }
    backend->attention_backward(Stream::kCompute, {.qkv = qkv,
                                                   .context = context,
                                                   .d_context = d_context,
                                                   .log_sum_exp = log_sum_exp,
                                                   .sequences = sequences.get(),
                                                   .heads = static_cast<int32_t>(heads),
                                                   .dropout = dropout,
                                                   .d_qkv = d_qkv});
    backend->synchronize(Stream::kCompute);
  }
  // Forward has two GEMMs a head, backward four. Backward's second computation of scores does not
  // count.
  const double product = 2.0 * static_cast<double>(tokens * length * hidden);
  count_work(state, (backward ? 4 : 2) * product,
             backward ? bytes_of({qkv, context, d_context, log_sum_exp, d_qkv})
                      : bytes_of({qkv, context, log_sum_exp}));
}

void attention_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"length", "sequences", "heads", "head_size"})
      ->Args({128, 4, 16, 64})
      ->Args({512, 1, 16, 64})
      ->Args({512, 1, 12, 32})
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

void add_attention() {
  for (const bool backward : {false, true}) {
    for_each_dtype([&](DType dtype) {
      const std::string name = backward ? "attention_backward/" : "attention_forward/";
      benchmark::RegisterBenchmark((name + name_of(dtype)).c_str(), attention, dtype, backward)
          ->Apply(attention_shapes);
    });
  }
}

}  // namespace strata::bench::micro
