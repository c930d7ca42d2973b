#include "device/cpu/gemm/widen.h"

#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {
namespace {

void widen_row(int64_t columns, const Float16* from, float* to) {
  kernels_for_this_cpu().f16_to_f32(columns, 1.0f, from, to);
}
void widen_row(int64_t columns, const uint16_t* from, float* to) {
  kernels_for_this_cpu().bf16_to_f32(columns, 1.0f, from, to);
}
void round_row(int64_t columns, const float* from, Float16* to) {
  kernels_for_this_cpu().f32_to_f16(columns, 1.0f, from, to);
}
void round_row(int64_t columns, const float* from, uint16_t* to) {
  kernels_for_this_cpu().f32_to_bf16(columns, 1.0f, from, to);
}

template <typename Work>
void for_each_row(int64_t rows, const Work& work) {
  parallel_ranges(openmp_threads(), rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) work(row);
  });
}

}  // namespace

template <typename T>
void widen(const T* from, int64_t rows, int64_t columns, int64_t stride, float* to) {
  for_each_row(rows,
               [&](int64_t row) { widen_row(columns, from + row * stride, to + row * columns); });
}

template <typename T>
void narrow(const float* from, int64_t rows, int64_t columns, T* to, int64_t stride) {
  for_each_row(rows,
               [&](int64_t row) { round_row(columns, from + row * columns, to + row * stride); });
}

template void widen(const Float16*, int64_t, int64_t, int64_t, float*);
template void widen(const uint16_t*, int64_t, int64_t, int64_t, float*);
template void narrow(const float*, int64_t, int64_t, Float16*, int64_t);
template void narrow(const float*, int64_t, int64_t, uint16_t*, int64_t);

}  // namespace strata::device::cpu
