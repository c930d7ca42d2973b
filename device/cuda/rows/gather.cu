// Gathering and scattering of rows.
#include "device/cuda/runtime/kernel.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 128;

// One block per row.
template <int V, typename T>
__global__ void __launch_bounds__(kThreads) gather_kernel(GatherRows op) {
  const int64_t columns = op.x.cols;
  const int64_t row = op.rows[blockIdx.x];
  const T* from = op.x.as<T>() + row * columns;
  T* to = op.y.as<T>() + blockIdx.x * columns;
  for (int64_t i = int64_t{threadIdx.x} * V; i < columns; i += kThreads * V) {
    *reinterpret_cast<Pack<T, V>*>(to + i) =
        row < 0 ? Pack<T, V>{} : *reinterpret_cast<const Pack<T, V>*>(from + i);
  }
}

template <int V, typename T>
__global__ void __launch_bounds__(kThreads) scatter_add_kernel(ScatterAddRows op) {
  const int64_t columns = op.dy.cols, row = op.rows[blockIdx.x];
  if (row < 0) return;
  const T* from = op.dy.as<T>() + blockIdx.x * columns;
  T* to = op.dx.as<T>() + row * columns;
  for (int64_t i = int64_t{threadIdx.x} * V; i < columns; i += kThreads * V) {
    float x[V], sum[V];
    load(from + i, x);
    load(to + i, sum);
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] += x[j];
    store(to + i, sum);
  }
}

}  // namespace

template <typename T>
void Operations<T>::gather_rows(const Context& context, const GatherRows& op) {
  if (op.x.dtype != dtype_of<T>()) return Operations<float>::gather_rows(context, op);
  constexpr int V = kVector<T>;
  const bool aligned = rows_are_aligned(op.x.cols, V, op.x.data, op.y.data);
  launch(context.stream, op.y.rows, kThreads, aligned ? gather_kernel<V, T> : gather_kernel<1, T>,
         op);
}

template <typename T>
void Operations<T>::scatter_add_rows(const Context& context, const ScatterAddRows& op) {
  if (op.dx.dtype != dtype_of<T>()) return Operations<float>::scatter_add_rows(context, op);
  constexpr int V = kVector<T>;
  const bool aligned = rows_are_aligned(op.dy.cols, V, op.dy.data, op.dx.data);
  launch(context.stream, op.dy.rows, kThreads,
         aligned ? scatter_add_kernel<V, T> : scatter_add_kernel<1, T>, op);
}

STRATA_INSTANTIATE(gather_rows, GatherRows);
STRATA_INSTANTIATE(scatter_add_rows, ScatterAddRows);

}  // namespace strata::device::cuda
