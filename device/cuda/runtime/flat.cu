// Conversion, norms and clipping.
#include "device/cuda/runtime/flat.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

template <int V, typename From, typename To>
__global__ void __launch_bounds__(kFlatThreads)
    convert_kernel(const From* source, To* destination, int64_t count, float scale,
                   const double* norm_squared, float max_norm) {
  scale *= clip_factor(norm_squared, max_norm);
  for (int64_t i = flat_index<V>(); i < count; i += flat_stride<V>()) {
    float x[V];
    load(source + i, x);
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] *= scale;
    store(destination + i, x);
  }
}

template <typename From, typename To>
void convert_range(const Context& context, const ConstTensor& source, const Tensor& destination,
                   float scale, const double* norm_squared, float max_norm) {
  for_flat_parts(source.size(), suits_packs<From>(source.data) && suits_packs<To>(destination.data),
                 [&](auto width, int64_t begin, int64_t count, int64_t blocks) {
                   launch(context.stream, limited_blocks(context, blocks), kFlatThreads,
                          convert_kernel<width(), From, To>, source.as<From>() + begin,
                          destination.as<To>() + begin, count, scale, norm_squared, max_norm);
                 });
}

// destination = scale * clip factor * source.
void convert_and_clip(const Context& context, const ConstTensor& source, const Tensor& destination,
                      float scale, const double* norm_squared, float max_norm) {
  const auto convert = [&](auto from, auto to) {
    convert_range<decltype(from), decltype(to)>(context, source, destination, scale, norm_squared,
                                                max_norm);
  };
  const DType from = source.dtype, to = destination.dtype;
  // Converts between f32 and the type of `half`.
  const auto convert_half = [&](auto half) {
    if (from == DType::kF32) return convert(float{}, half);
    to == DType::kF32 ? convert(half, float{}) : convert(half, half);
  };
  const DType narrow = from == DType::kF32 ? to : from;
  require(from == DType::kF32 || to == DType::kF32 || from == to,
          "the cuda backend converts between f32 and bf16 or f16");
  if (narrow == DType::kF32) return convert(float{}, float{});
  if (narrow == DType::kBF16) return convert_half(BFloat16{});
  require(narrow == DType::kF16, "the cuda backend converts f32, bf16 and f16 only");
  convert_half(Float16{});
}

constexpr int64_t kNormBlock = 16384;  // elements that a block sums

template <int V, typename T>
__global__ void __launch_bounds__(kFlatThreads)
    sum_of_squares_kernel(const T* x, int64_t count, double* parts) {
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kNormBlock;
  const int64_t end = begin + kNormBlock < count ? begin + kNormBlock : count;
  double sum = 0.0;
#pragma unroll 4
  for (int64_t i = begin + threadIdx.x * V; i + V <= end; i += kFlatThreads * V) {
    float values[V];
    load(x + i, values);
#pragma unroll
    for (int j = 0; j < V; ++j) sum += static_cast<double>(values[j]) * values[j];
  }
  const int64_t rest = begin + (end - begin) / V * V + threadIdx.x;
  if (rest < end) sum += static_cast<double>(x[rest]) * static_cast<double>(x[rest]);
  sum = block_sum<kFlatThreads>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// One block.
__global__ void __launch_bounds__(kFlatThreads)
    add_parts_kernel(const double* parts, int64_t count, double* total) {
  double sum = 0.0;
  for (int64_t i = threadIdx.x; i < count; i += kFlatThreads) sum += parts[i];
  sum = block_sum<kFlatThreads>(sum);
  if (threadIdx.x == 0) *total += sum;
}

}  // namespace

void FlatOperations::convert(const Context& context, const Convert& op) {
  convert_and_clip(context, op.source, op.destination, op.scale, nullptr, 1.0f);
}

void FlatOperations::clip_to_norm(const Context& context, const ClipToNorm& op) {
  convert_and_clip(context, op.x, op.destination ? op.destination : op.x, 1.0f, op.norm_squared,
                   op.max_norm);
}

void FlatOperations::l2_norm_squared(const Context& context, const L2NormSquared& op) {
  const int64_t blocks = ceil_div(op.x.size(), kNormBlock);
  double* parts = context.scratch[0].get<double>(blocks);
  const auto sum = [&](auto kernel, auto x) {
    launch(context.stream, blocks, kFlatThreads, kernel, x, op.x.size(), parts);
  };
  const bool aligned = are_aligned(op.x.data);
  if (op.x.dtype == DType::kF32) {
    sum(aligned ? sum_of_squares_kernel<4, float> : sum_of_squares_kernel<1, float>,
        op.x.as<float>());
  } else if (op.x.dtype == DType::kF16) {
    sum(aligned ? sum_of_squares_kernel<8, Float16> : sum_of_squares_kernel<1, Float16>,
        op.x.as<Float16>());
  } else {
    sum(aligned ? sum_of_squares_kernel<8, BFloat16> : sum_of_squares_kernel<1, BFloat16>,
        op.x.as<BFloat16>());
  }
  launch(context.stream, 1, kFlatThreads, add_parts_kernel, parts, blocks, op.norm_squared);
}

}  // namespace strata::device::cuda
