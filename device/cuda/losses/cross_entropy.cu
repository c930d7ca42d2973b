#include <iterator>
#include <limits>
#include <type_traits>

#include "device/cuda/losses/cross_entropy.h"
#include "device/cuda/runtime/flat.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256;

// Calls body(Width<V>, first) for packs of V classes that begin at `first`, then for single
// classes.
template <int V, typename Body>
__device__ inline void for_each_class(int classes, const Body& body) {
  const int thread = static_cast<int>(threadIdx.x), wide = classes / V * V;
#pragma unroll 2
  for (int i = thread * V; i < wide; i += kThreads * V) body(Width<V>{}, i);
  if constexpr (V > 1) {
    for (int i = wide + thread; i < classes; i += kThreads) body(Width<1>{}, i);
  }
}

// One block per row. It reads the logits once for the loss and once for the gradient. The label
// wins if no earlier class reaches its score and no later class exceeds it.
template <int V, typename T>
__global__ void __launch_bounds__(kThreads) row_kernel(CrossEntropy<T> op, LossTotals* parts) {
  const int64_t row = blockIdx.x;
  const float* __restrict__ logits = op.logits + row * op.stride;
  const auto scores = [&](int first, auto& x) {
    std::remove_reference_t<decltype(x)> bias;
    load(logits + first, x);
    load(op.bias + first, bias);
#pragma unroll
    for (size_t i = 0; i < std::size(x); ++i) x[i] += bias[i];
  };
  const int label = op.labels[row], classes = static_cast<int>(op.classes);
  T* __restrict__ dx = op.d_logits + row * op.stride;
  if (label < 0) {
    if (threadIdx.x == 0) parts[row] = {};
    if (!op.d_logits) return;
    for_each_class<V>(classes, [&](auto width, int first) {
      const float zeros[width()] = {};
      store(dx + first, zeros);
    });
    return;
  }
  float of_label[1];
  scores(label, of_label);
  // This thread's values, over the classes so far.
  float highest = std::numeric_limits<float>::lowest(), sum = 0.0f, earlier_as_high = 0.0f;
  for_each_class<V>(classes, [&](auto width, int first) {
    float x[width()];
    scores(first, x);
    float top = highest;
#pragma unroll
    for (int i = 0; i < width(); ++i) {
      top = fmaxf(top, x[i]);
      if (first + i < label && x[i] >= of_label[0]) earlier_as_high = 1.0f;
    }
    if (top > highest) sum *= expf(highest - top);
    highest = top;
#pragma unroll
    for (int i = 0; i < width(); ++i) sum += expf(x[i] - highest);
  });
  const float highest_of_all = block_max<kThreads>(highest);
  earlier_as_high = block_max<kThreads>(earlier_as_high);
  // Threads without a class have a sum of 0.
  sum = block_sum<kThreads>(sum * expf(highest - highest_of_all));
  if (threadIdx.x == 0) {
    parts[row].loss =
        static_cast<double>(highest_of_all - of_label[0]) + log(static_cast<double>(sum));
    parts[row].correct = of_label[0] >= highest_of_all && earlier_as_high == 0.0f ? 1 : 0;
    parts[row].count = 1;
  }
  if (!op.d_logits) return;
  const float gradient_scale = op.gradient_scale.now(), scale = gradient_scale / sum;
  for_each_class<V>(classes, [&](auto width, int first) {
    float x[width()];
    scores(first, x);
#pragma unroll
    for (int i = 0; i < width(); ++i) {
      x[i] = expf(x[i] - highest_of_all) * scale;
      if (first + i == label) x[i] -= gradient_scale;
    }
    store(dx + first, x);
  });
}

// One block.
__global__ void __launch_bounds__(kThreads)
    add_totals_kernel(const LossTotals* parts, int64_t rows, LossTotals* totals) {
  double loss = 0.0, correct = 0.0, count = 0.0;
  for (int64_t row = threadIdx.x; row < rows; row += kThreads) {
    loss += parts[row].loss;
    correct += static_cast<double>(parts[row].correct);
    count += static_cast<double>(parts[row].count);
  }
  loss = block_sum<kThreads>(loss);
  correct = block_sum<kThreads>(correct);
  count = block_sum<kThreads>(count);
  if (threadIdx.x == 0) {
    totals->loss += loss;
    totals->correct += static_cast<int64_t>(correct);
    totals->count += static_cast<int64_t>(count);
  }
}

}  // namespace

template <typename T>
void cross_entropy(const Context& context, const CrossEntropy<T>& op, int slot) {
  auto* parts = context.scratch[slot].get<LossTotals>(op.rows);
  constexpr int V = kVector<float>;
  const bool aligned = rows_are_aligned(op.stride, V, op.logits, op.bias, op.d_logits);
  launch(context.stream, op.rows, kThreads, aligned ? row_kernel<V, T> : row_kernel<1, T>, op,
         parts);
  launch(context.stream, 1, kThreads, add_totals_kernel, parts, op.rows, op.totals);
}

template void cross_entropy(const Context&, const CrossEntropy<float>&, int);
template void cross_entropy(const Context&, const CrossEntropy<BFloat16>&, int);
template void cross_entropy(const Context&, const CrossEntropy<Float16>&, int);

}  // namespace strata::device::cuda
