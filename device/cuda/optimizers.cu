// The optimizers over flat ranges, in one pass each; LAMB has two.
#include <algorithm>
#include <span>
#include <type_traits>

#include "device/cuda/runtime/flat.h"
#include "device/cuda/runtime/operations.h"
#include "device/operations/update_rules.h"

namespace strata::device::cuda {
namespace {

// Returns the factor of every gradient.
__device__ inline float factor_of(const GradientClip& clip) {
  return clip.scale * clip_factor(clip.norm_squared, clip.max_norm);
}

// Returns the arrays from element `begin`.
UpdateArrays arrays_from(const UpdateArrays& all, int64_t begin) {
  return {all.weights + begin, all.gradients + begin, all.first + begin, part_of(all.second, begin),
          part_of(all.initial_weights, begin)};
}

// Calls work(compute weights) with a typed pointer, which may be null.
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
    float w[V], g[V], first[V], second[V] = {}, initial[V] = {};
    load(arrays.weights + i, w);
    load(arrays.gradients + i, g);
    load(arrays.first + i, first);
    if constexpr (kTwoStates<Op>) load(arrays.second + i, second);
    if constexpr (kReadsInitialWeights<Op>) load(arrays.initial_weights + i, initial);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      w[j] = rule.new_weight(w[j], g[j], first[j], second[j], initial[j]);
    }
    store(arrays.weights + i, w);
    store(arrays.first + i, first);
    if constexpr (kTwoStates<Op>) store(arrays.second + i, second);
    if (compute_weights) store(compute_weights + i, w);
  }
}

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

constexpr int64_t kLambBlock = 4096;  // elements per block, whose sums are added in order
constexpr int kLambPack = kVector<float>;

// Maps blocks to the parts of a flat range.
struct LambTable {
  static constexpr int kMost = 64;

  int count = 0;
  int blocks[kMost + 1] = {};  // first block of each part; the last entry is the number of blocks
  int64_t begins[kMost + 1] = {};  // first element of each part
  LambNorms* norms[kMost] = {};
  uint64_t first = 0;  // one bit per part, set if its norms are overwritten

  // Returns the part of a block.
  __device__ int part_of(int block) const {
    int begin = 0, end = count;
    while (end - begin > 1) {
      const int middle = (begin + end) / 2;
      (blocks[middle] <= block ? begin : end) = middle;
    }
    return begin;
  }
};

// Loads the first `count` elements of a pack and zeros for the rest; with `wide`, all in one
// access.
template <typename T>
__device__ inline void load_first(bool wide, const T* from, int64_t count, float (&x)[kLambPack]) {
  if (wide && count >= kLambPack) return load(from, x);
#pragma unroll
  for (int i = 0; i < kLambPack; ++i) x[i] = i < count ? from[i] : 0.0f;
}
template <typename T>
__device__ inline void store_first(bool wide, T* to, int64_t count, const float (&x)[kLambPack]) {
  if (wide && count >= kLambPack) return store(to, x);
#pragma unroll
  for (int i = 0; i < kLambPack; ++i) {
    if (i >= count) break;
    const float one[1] = {x[i]};
    store(to + i, one);
  }
}

__device__ inline bool are_wide(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

// A block takes kLambBlock elements of one part. The order of its sums does not depend on
// alignment. If the part decays, its contribution to the norms goes to parts[block].
template <typename Compute>
__global__ void __launch_bounds__(kFlatThreads)
    lamb_directions_kernel(const __grid_constant__ AdamUpdate op, Compute* compute_weights,
                           float* directions, const __grid_constant__ LambTable table,
                           LambNorms* parts) {
  const int block = static_cast<int>(blockIdx.x), part = table.part_of(block);
  const bool decays = table.norms[part] != nullptr;
  GradientMoments moments(op, factor_of(op.clip));
  if (!decays) moments.weight_decay = 0.0f;
  const float rate = decays ? 0.0f : op.learning_rate.now();
  const int64_t begin = table.begins[part] + int64_t{block - table.blocks[part]} * kLambBlock;
  const int64_t left = table.begins[part + 1] - begin;
  const int count = static_cast<int>(left < kLambBlock ? left : kLambBlock);
  float* weights = op.weights.as<float>() + begin;
  float* first_moment = op.first_moment.as<float>() + begin;
  float* second_moment = op.second_moment.as<float>() + begin;
  directions += begin;
  if (compute_weights) compute_weights += begin;
  const bool wide = are_wide(weights, 16) && are_wide(first_moment, 16) &&
                    are_wide(second_moment, 16) && are_wide(directions, 16) &&
                    are_wide(compute_weights, sizeof(Compute) * kLambPack);
  double of_weights = 0.0, of_direction = 0.0;
  for (int i = static_cast<int>(threadIdx.x) * kLambPack; i < count;
       i += kFlatThreads * kLambPack) {
    float w[kLambPack], g[kLambPack], m[kLambPack], v[kLambPack];
    load_first(wide, weights + i, count - i, w);
    load_first(wide, directions + i, count - i, g);
    load_first(wide, first_moment + i, count - i, m);
    load_first(wide, second_moment + i, count - i, v);
#pragma unroll
    for (int j = 0; j < kLambPack; ++j) {
      const float u = moments.update(w[j], g[j], m[j], v[j]);
      g[j] = u;
      of_weights += static_cast<double>(w[j]) * w[j];
      of_direction += static_cast<double>(u) * u;
      w[j] -= rate * u;
    }
    if (decays) {
      store_first(wide, directions + i, count - i, g);
    } else {
      store_first(wide, weights + i, count - i, w);
      if (compute_weights) store_first(wide, compute_weights + i, count - i, w);
    }
    store_first(wide, first_moment + i, count - i, m);
    store_first(wide, second_moment + i, count - i, v);
  }
  if (!decays) return;
  of_weights = block_sum<kFlatThreads>(of_weights);
  of_direction = block_sum<kFlatThreads>(of_direction);
  if (threadIdx.x == 0) {
    parts[block].weights = of_weights;
    parts[block].direction = of_direction;
  }
}

// One block per part.
__global__ void __launch_bounds__(kFlatThreads)
    add_norms_kernel(const __grid_constant__ LambTable table, const LambNorms* parts) {
  const int part = static_cast<int>(blockIdx.x);
  LambNorms* norms = table.norms[part];
  if (!norms) return;
  double of_weights = 0.0, of_direction = 0.0;
  for (int i = table.blocks[part] + static_cast<int>(threadIdx.x); i < table.blocks[part + 1];
       i += kFlatThreads) {
    of_weights += parts[i].weights;
    of_direction += parts[i].direction;
  }
  of_weights = block_sum<kFlatThreads>(of_weights);
  of_direction = block_sum<kFlatThreads>(of_direction);
  if (threadIdx.x > 0) return;
  const bool first = (table.first >> part & 1) != 0;
  norms->weights = (first ? 0.0 : norms->weights) + of_weights;
  norms->direction = (first ? 0.0 : norms->direction) + of_direction;
}

template <typename Compute>
__global__ void __launch_bounds__(kFlatThreads)
    lamb_applies_kernel(float* weights, const float* directions, Compute* compute_weights,
                        StepValue<float> learning_rate, const __grid_constant__ LambTable table) {
  const int block = static_cast<int>(blockIdx.x), part = table.part_of(block);
  const auto rate = static_cast<float>(learning_rate.now() * table.norms[part]->trust_ratio());
  const int64_t begin = table.begins[part] + int64_t{block - table.blocks[part]} * kLambBlock;
  const int64_t left = table.begins[part + 1] - begin;
  const int count = static_cast<int>(left < kLambBlock ? left : kLambBlock);
  weights += begin;
  directions += begin;
  if (compute_weights) compute_weights += begin;
  const bool wide = are_wide(weights, 16) && are_wide(directions, 16) &&
                    are_wide(compute_weights, sizeof(Compute) * kLambPack);
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) * kLambPack; i < count;
       i += kFlatThreads * kLambPack) {
    float w[kLambPack], u[kLambPack];
    load_first(wide, weights + i, count - i, w);
    load_first(wide, directions + i, count - i, u);
#pragma unroll
    for (int j = 0; j < kLambPack; ++j) w[j] -= rate * u[j];
    store_first(wide, weights + i, count - i, w);
    if (compute_weights) store_first(wide, compute_weights + i, count - i, w);
  }
}

// Calls launch_parts(table) for as many parts at a time as a kernel takes. With `every`, parts
// without norms have blocks, too.
template <typename LaunchParts>
void for_each_table(std::span<const LambPart> parts, bool every, const LaunchParts& launch_parts) {
  int64_t begin = 0;
  while (!parts.empty()) {
    LambTable table;
    const size_t count = std::min<size_t>(parts.size(), LambTable::kMost);
    for (; table.count < static_cast<int>(count); ++table.count) {
      const int i = table.count;
      const LambPart& part = parts[static_cast<size_t>(i)];
      const bool takes_blocks = every || part.norms;
      table.begins[i] = begin;
      table.norms[i] = part.norms;
      table.first |= uint64_t{part.first} << i;
      table.blocks[i + 1] =
          table.blocks[i] + static_cast<int>(takes_blocks ? ceil_div(part.size, kLambBlock) : 0);
      begin += part.size;
      table.begins[i + 1] = begin;
    }
    launch_parts(table);
    parts = parts.subspan(count);
  }
}

}  // namespace

#define STRATA_UPDATE(function, Update, without)                                              \
  void FlatOperations::function(const Context& context, const Update& op) {                   \
    with_rule_of(op, [&](auto rule) { update<typename decltype(rule)::type>(context, op); }); \
  }
STRATA_ELEMENTWISE_UPDATES(STRATA_UPDATE)
#undef STRATA_UPDATE

void FlatOperations::lamb_directions(const Context& context, const LambDirections& op) {
  for_each_table(op.parts, true, [&](const LambTable& table) {
    const int blocks = table.blocks[table.count];
    auto* parts = context.scratch[0].get<LambNorms>(blocks);
    with_compute_weights(op.adam.compute_weights, [&](auto* compute) {
      launch(context.stream, blocks, kFlatThreads,
             lamb_directions_kernel<std::remove_pointer_t<decltype(compute)>>, op.adam, compute,
             op.directions.as<float>(), table, parts);
    });
    const bool any = std::any_of(table.norms, table.norms + table.count,
                                 [](const LambNorms* norms) { return norms != nullptr; });
    launch(context.stream, any ? table.count : 0, kFlatThreads, add_norms_kernel, table, parts);
  });
}

void FlatOperations::lamb_direction(const Context& context, const LambDirection& op) {
  const LambPart whole{op.weights.size(), op.norms};
  lamb_directions(context, {.adam = {.weights = {const_cast<void*>(op.weights.data),
                                                 op.weights.dtype, 1, op.weights.size()},
                                     .compute_weights = {},
                                     .gradients = op.gradients,
                                     .first_moment = op.first_moment,
                                     .second_moment = op.second_moment,
                                     .learning_rate = {},
                                     .corrections = op.corrections,
                                     .beta1 = op.beta1,
                                     .beta2 = op.beta2,
                                     .epsilon = op.epsilon,
                                     .weight_decay = op.weight_decay,
                                     .clip = op.clip},
                            .directions = op.gradients,
                            .parts = {&whole, 1}});
}

void FlatOperations::lamb_applies(const Context& context, const LambApplies& op) {
  for_each_table(op.parts, false, [&](const LambTable& table) {
    with_compute_weights(op.compute_weights, [&](auto* compute) {
      launch(context.stream, table.blocks[table.count], kFlatThreads,
             lamb_applies_kernel<std::remove_pointer_t<decltype(compute)>>, op.weights.as<float>(),
             op.directions.as<float>(), compute, op.learning_rate, table);
    });
  });
}

void FlatOperations::lamb_apply(const Context& context, const LambApply& op) {
  const LambPart whole{op.weights.size(), const_cast<LambNorms*>(op.norms)};
  lamb_applies(context, {.weights = op.weights,
                         .compute_weights = op.compute_weights,
                         .directions = op.directions,
                         .parts = {&whole, 1},
                         .learning_rate = op.learning_rate});
}

}  // namespace strata::device::cuda
