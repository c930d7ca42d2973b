// The optimizers over flat ranges, one pass each, LAMB's two halves included.
#include <type_traits>

#include "device/cuda/runtime/flat.h"
#include "device/cuda/runtime/operations.h"
#include "device/update_rules.h"

namespace strata::device::cuda {
namespace {

// What every gradient is multiplied by.
__device__ inline float factor_of(const GradientClip& clip) {
  return clip.scale * clip_factor(clip.norm_squared, clip.max_norm);
}

// Those of the elements from `begin` on.
UpdateArrays arrays_from(const UpdateArrays& all, int64_t begin) {
  return {all.weights + begin, all.gradients + begin, all.first + begin, all.second + begin,
          part_of(all.initial_weights, begin)};
}

// Calls work(compute weights) with where they are, which may be null.
template <typename Work>
void with_compute_weights(const Tensor& weights, const Work& work) {
  if (weights.dtype == DType::kF16) {
    work(weights.as<Float16>());
  } else {
    work(weights.as<BFloat16>());
  }
}

// compute_weights may be null.
template <int V, typename Rule, typename Op, typename Compute>
__global__ void __launch_bounds__(kFlatThreads)
    update_kernel(Op op, UpdateArrays arrays, Compute* compute_weights, int64_t count) {
  const Rule rule(op, factor_of(op.clip));
  for (int64_t i = flat_index<V>(); i < count; i += flat_stride<V>()) {
    float w[V], g[V], first[V], second[V], initial[V] = {};
    load(arrays.weights + i, w);
    load(arrays.gradients + i, g);
    load(arrays.first + i, first);
    load(arrays.second + i, second);
    if constexpr (Rule::kReadsInitialWeights) load(arrays.initial_weights + i, initial);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      w[j] = rule.new_weight(w[j], g[j], first[j], second[j], initial[j]);
    }
    store(arrays.weights + i, w);
    store(arrays.first + i, first);
    store(arrays.second + i, second);
    if (compute_weights) store(compute_weights + i, w);
  }
}

// Of an update that needs no sums over tensors.
template <typename Rule, typename Op>
void update(const Context& context, const Op& op) {
  const UpdateArrays all = arrays_of(op);
  with_compute_weights(op.compute_weights, [&](auto* compute) {
    using Compute = std::remove_pointer_t<decltype(compute)>;
    for_flat_parts(
        op.weights.size(),
        are_aligned(all.weights, all.gradients, all.first, all.second, all.initial_weights) &&
            suits_packs<Compute>(compute),
        [&](auto width, int64_t begin, int64_t count, int64_t blocks) {
          launch(context.stream, limited_blocks(context, blocks), kFlatThreads,
                 update_kernel<width(), Rule, Op, Compute>, op, arrays_from(all, begin),
                 part_of(compute, begin), count);
        });
  });
}

constexpr int64_t kLambBlock = 4096;  // elements a block takes: its sums are added in order

constexpr int kLambPack = kVector<float>;

// The first `count` of a pack's elements, and zeros; kWide: in one access where that are all.
template <bool kWide>
__device__ inline void load_first(const float* from, int64_t count, float (&x)[kLambPack]) {
  if (kWide && count >= kLambPack) return load(from, x);
#pragma unroll
  for (int i = 0; i < kLambPack; ++i) x[i] = i < count ? from[i] : 0.0f;
}
template <bool kWide>
__device__ inline void store_first(float* to, int64_t count, const float (&x)[kLambPack]) {
  if (kWide && count >= kLambPack) return store(to, x);
#pragma unroll
  for (int i = 0; i < kLambPack; ++i) {
    if (i < count) to[i] = x[i];
  }
}

// The order of sums is the same for both.
template <bool kWide>
__global__ void __launch_bounds__(kFlatThreads)
    lamb_direction_kernel(LambDirection op, int64_t count, LambNorms* parts) {
  const GradientMoments moments(op, factor_of(op.clip));
  const auto* weights = op.weights.as<float>();
  auto* gradients = op.gradients.as<float>();
  auto* first_moment = op.first_moment.as<float>();
  auto* second_moment = op.second_moment.as<float>();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kLambBlock;
  const int64_t end = begin + kLambBlock < count ? begin + kLambBlock : count;
  double of_weights = 0.0, of_direction = 0.0;
  for (int64_t i = begin + threadIdx.x * kLambPack; i < end; i += kFlatThreads * kLambPack) {
    float w[kLambPack], g[kLambPack], m[kLambPack], v[kLambPack];
    load_first<kWide>(weights + i, end - i, w);
    load_first<kWide>(gradients + i, end - i, g);
    load_first<kWide>(first_moment + i, end - i, m);
    load_first<kWide>(second_moment + i, end - i, v);
#pragma unroll
    for (int j = 0; j < kLambPack; ++j) {
      const float u = moments.update(w[j], g[j], m[j], v[j]);
      g[j] = u;
      of_weights += static_cast<double>(w[j]) * w[j];
      of_direction += static_cast<double>(u) * u;
    }
    store_first<kWide>(gradients + i, end - i, g);
    store_first<kWide>(first_moment + i, end - i, m);
    store_first<kWide>(second_moment + i, end - i, v);
  }
  of_weights = block_sum<kFlatThreads>(of_weights);
  of_direction = block_sum<kFlatThreads>(of_direction);
  if (threadIdx.x == 0) {
    parts[blockIdx.x].weights = of_weights;
    parts[blockIdx.x].direction = of_direction;
  }
}

// One block.
__global__ void __launch_bounds__(kFlatThreads)
    add_norms_kernel(const LambNorms* parts, int64_t count, LambNorms* norms) {
  double of_weights = 0.0, of_direction = 0.0;
  for (int64_t i = threadIdx.x; i < count; i += kFlatThreads) {
    of_weights += parts[i].weights;
    of_direction += parts[i].direction;
  }
  of_weights = block_sum<kFlatThreads>(of_weights);
  of_direction = block_sum<kFlatThreads>(of_direction);
  if (threadIdx.x == 0) {
    norms->weights += of_weights;
    norms->direction += of_direction;
  }
}

template <int V, typename Compute>
__global__ void __launch_bounds__(kFlatThreads)
    lamb_apply_kernel(float* weights, const float* directions, Compute* compute_weights,
                      int64_t count, const LambNorms* norms, StepValue<float> learning_rate) {
  const int64_t i = flat_index<V>();
  if (i >= count) return;
  const auto rate = static_cast<float>(learning_rate.now() * norms->trust_ratio());
  float w[V], u[V];
  load(weights + i, w);
  load(directions + i, u);
#pragma unroll
  for (int j = 0; j < V; ++j) {
    w[j] -= rate * u[j];
  }
  store(weights + i, w);
  if (compute_weights) store(compute_weights + i, w);
}

}  // namespace

void FlatOperations::adam_update(const Context& context, const AdamUpdate& op) {
  update<AdamRule>(context, op);
}

void FlatOperations::madgrad_update(const Context& context, const MadgradUpdate& op) {
  update<MadgradRule>(context, op);
}

void FlatOperations::acclip_update(const Context& context, const AcClipUpdate& op) {
  with_rule_of(op, [&](auto rule) { update<typename decltype(rule)::type>(context, op); });
}

void FlatOperations::lamb_direction(const Context& context, const LambDirection& op) {
  const int64_t count = op.weights.size(), blocks = ceil_div(count, kLambBlock);
  auto* parts = context.scratch[0].get<LambNorms>(blocks);
  const bool wide =
      are_aligned(op.weights.data, op.gradients.data, op.first_moment.data, op.second_moment.data);
  launch(context.stream, blocks, kFlatThreads,
         wide ? lamb_direction_kernel<true> : lamb_direction_kernel<false>, op, count, parts);
  launch(context.stream, 1, kFlatThreads, add_norms_kernel, parts, blocks, op.norms);
}

void FlatOperations::lamb_apply(const Context& context, const LambApply& op) {
  with_compute_weights(op.compute_weights, [&](auto* compute) {
    using Compute = std::remove_pointer_t<decltype(compute)>;
    for_flat_parts(
        op.weights.size(),
        are_aligned(op.weights.data, op.directions.data) && suits_packs<Compute>(compute),
        [&](auto width, int64_t begin, int64_t count, int64_t blocks) {
          launch(context.stream, blocks, kFlatThreads, lamb_apply_kernel<width(), Compute>,
                 op.weights.as<float>() + begin, op.directions.as<float>() + begin,
                 part_of(compute, begin), count, op.norms, op.learning_rate);
        });
  });
}

}  // namespace strata::device::cuda
