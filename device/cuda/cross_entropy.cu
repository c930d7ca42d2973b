#include "device/cuda/cross_entropy.h"
#include "device/cuda/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256;

// A block a row. The label wins where no class before it reaches its score and none after exceeds
// it.
template <typename T>
__global__ void __launch_bounds__(kThreads) row_kernel(CrossEntropy<T> op, LossTotals* parts) {
  const int64_t row = blockIdx.x;
  const float* logits = op.logits + row * op.stride;
  const auto x = [&](int i) { return logits[i] + static_cast<float>(op.bias[i]); };
  const int label = op.labels[row], classes = static_cast<int>(op.classes);
  T* dx = op.d_logits + row * op.stride;
  if (label < 0) {
    if (threadIdx.x == 0) parts[row] = {};
    if (!op.d_logits) return;
    for (int i = static_cast<int>(threadIdx.x); i < classes; i += kThreads) dx[i] = T(0.0f);
    return;
  }
  const float of_label = x(label);
  float highest = -INFINITY, earlier_as_high = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < classes; i += kThreads) {
    const float logit = x(i);
    highest = fmaxf(highest, logit);
    if (i < label && logit >= of_label) earlier_as_high = 1.0f;
  }
  highest = block_max<kThreads>(highest);
  earlier_as_high = block_max<kThreads>(earlier_as_high);
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < classes; i += kThreads) {
    sum += expf(x(i) - highest);
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) {
    parts[row].loss = static_cast<double>(highest - of_label) + log(static_cast<double>(sum));
    parts[row].correct = of_label >= highest && earlier_as_high == 0.0f ? 1 : 0;
    parts[row].count = 1;
  }
  if (!op.d_logits) return;
  const float gradient_scale = op.gradient_scale.now(), scale = gradient_scale / sum;
  for (int i = static_cast<int>(threadIdx.x); i < classes; i += kThreads) {
    const float d = expf(x(i) - highest) * scale;
    dx[i] = T(i == label ? d - gradient_scale : d);
  }
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
  launch(context.stream, op.rows, kThreads, row_kernel<T>, op, parts);
  launch(context.stream, 1, kThreads, add_totals_kernel, parts, op.rows, op.totals);
}

template void cross_entropy(const Context&, const CrossEntropy<float>&, int);
template void cross_entropy(const Context&, const CrossEntropy<BFloat16>&, int);

}  // namespace strata::device::cuda
