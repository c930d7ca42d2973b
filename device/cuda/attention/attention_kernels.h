// Self-attention in tiles of 64 queries x 64 keys on tensor cores. Each of a block's four warps
// takes 16 rows of a tile. The tiles of the other operand are copied to shared memory one by one,
// each while the previous one is multiplied. `Gemm`: MmaGemm or WgmmaGemm for a head size.
#pragma once

#include "device/cuda/attention/attention_heads.h"

namespace strata::device::cuda {

// ---- Forward

template <typename Gemm>
__global__ void __launch_bounds__(kAttentionThreads, kBlocksAtOnce)
    attention_forward_kernel(AttentionForward op, bool side_by_side) {
  if constexpr (!Gemm::kCompiled) return stop_without_products();
  using Tile = typename Gemm::Tile;
  constexpr int kSize = Tile::kSize;
  __shared__ Tile keys[2], values[2];  // the current tile and the next one
  __shared__ DropoutRoundKeys round_keys;
  const TileOfBlock tile(op.sequences, side_by_side);
  const Head head(op.sequences, tile.sequence, static_cast<int>(blockIdx.y),
                  static_cast<int>(op.context.cols));
  const int first_query = tile.first_row;
  if (first_query >= head.length) return;
  const auto* qkv = op.qkv.as<BFloat16>();
  const int stride = 3 * head.hidden, part_of_qkv = Tile::part(stride);
  const int rows = smaller(kTile, head.length - first_query);
  // Idle warps only help to copy tiles, and to multiply them if warps do so together.
  const bool idle = uniform_warp() * kWarpRows >= rows;
  Gemm::require_alignment(keys[0]);
  Gemm::require_alignment(values[0]);
  KeysAndValues<Tile> others(qkv, head);
  others.load_next(keys[0], values[0], head.length);
  // The block's own rows are loaded through the memory of the second tile.
  keys[1].own().load_later(qkv + head.in_qkv<kSize>(first_query, kQuery) + part_of_qkv, stride,
                           rows);
  const HeadDropout dropout(op.dropout, head, round_keys);
  Gemm::wait_for_tiles();
  __syncthreads();
  LeftRows<kSize> queries;
  queries.load(keys[1].own());

  // Scores are exponents of two: exp(x) = 2^(x log2 e).
  const float scale = kLog2E * rsqrtf(static_cast<float>(kSize));
  Accumulator<kSize / 8> sums = {};
  float highest[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
  const Gemm gemm;
  const auto to_probabilities = [&]<int kColumns>(int first_key, Accumulator<kColumns>& scores) {
    hide_beyond<kColumns>(head.length - first_key, scores);
    float tops[2];
    bool grow = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = scores[0][2 * half];
#pragma unroll
      for (int t = 0; t < kColumns; ++t) {
        top = fmaxf(top, fmaxf(scores[t][2 * half], scores[t][2 * half + 1]));
      }
      tops[half] = row_group_max(top);
      grow |= (tops[half] - highest[half]) * scale > kMostGrowth;
    }
    // Rescales the sums only if exponentials would grow large without it.
    if (__any_sync(0xffffffffu, grow)) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float top = fmaxf(tops[half], highest[half]);
        const float shrink = exp2_approximately((highest[half] - top) * scale);
        highest[half] = top;
        total[half] *= shrink;
#pragma unroll
        for (int t = 0; t < kSize / 8; ++t) {
          sums[t][2 * half] *= shrink;
          sums[t][2 * half + 1] *= shrink;
        }
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float shift = -highest[half] * scale;
#pragma unroll
      for (int t = 0; t < kColumns; ++t) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[t][i] = exp2_approximately(fmaf(scores[t][i], scale, shift));
          total[half] += scores[t][i];  // this thread's part of the row
        }
      }
    }
    drop<kColumns>(dropout, first_query + warp() * kWarpRows, first_key, scores,
                   [](int, int, uint32_t) {});
  };
  // Attends to the tile's columns [0, 8 kColumns).
  const auto attend = [&](int stage, int first_key, auto columns_here) {
    constexpr int kColumns = columns_here();
    Accumulator<kColumns> scores;
    gemm.multiply_transposed(queries, keys[stage], 0, scores);
    gemm.template finish<kColumns>(scores);
    if (!idle) to_probabilities.template operator()<kColumns>(first_key, scores);
    gemm.multiply_add(scores, values[stage], 0, sums);
    gemm.template finish<kSize / 8>(sums);
  };
  int stage = 0;
#pragma unroll 1
  for (int first_key = 0; first_key < head.length; first_key += kTile, stage ^= 1) {
    // Makes the awaited tile visible to all threads, and ensures that nobody reads the memory of
    // the next one.
    __syncthreads();
    const int keys_here = head.length - first_key;
    const bool more = keys_here > kTile;
    if (more) others.load_next(keys[stage ^ 1], values[stage ^ 1], keys_here - kTile);
    if (Gemm::kWarpsTogether || !idle) {
      if (keys_here > kTile / 2) {
        attend(stage, first_key, std::integral_constant<int, kTile / 8>{});
      } else {
        attend(stage, first_key, std::integral_constant<int, kTile / 16>{});
      }
    }
    if (more) Gemm::wait_for_tiles();
  }

  const float of_rows[2] = {row_group_sum(total[0]), row_group_sum(total[1])};
  const float inverse[2] = {dropout.keep_scale / of_rows[0], dropout.keep_scale / of_rows[1]};
  Float8Writer<E4M3> copy(op.context_float8);
  store_rows<kSize>(sums, inverse, rows, op.context.as<BFloat16>(), copy,
                    head.in_context<kSize>(first_query), head.hidden);
  copy.finish();
  if (lane() % 4 != 0) return;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp() * kWarpRows + row_of(2 * half);
    if (row < rows) {
      op.log_sum_exp.as<float>()[head.statistic(op.heads, first_query + row)] =
          highest[half] * scale * kLn2 + logf(of_rows[half]);
    }
  }
}

// ---- Backward. The gradient of a score is p (d keep_scale - delta) / sqrt(size), where p is its
// probability. d is the gradient of the probability from the context's gradient, or 0 if dropped.
// So it is computed as keep_scale p (d - delta / keep_scale), up to the last factor.

// Values that convert a query's scores to their gradients. For queries beyond a sequence's end
// zeros are harmless, because all their other values are 0.
struct alignas(8) QueryStatistics {
  float shift;        // -log_sum_exp log2(e)
  float minus_delta;  // -(context . d_context) / keep_scale
};

// Memory that the first kernel writes for the second, with a head's queries side by side, in the
// order of reading.
struct ForKeys {
  QueryStatistics* statistics;  // [heads, T]
  // Probabilities that dropout keeps: [heads, groups of 32 keys, T], with bit key % 32.
  uint32_t* kept;
  int64_t tokens;
  int groups;  // groups of the longest sequence, a multiple of 2

  __device__ QueryStatistics* statistics_of(const Head& head, int query) const {
    return statistics + head.index * tokens + head.first + query;
  }
  __device__ uint32_t* kept_of(const Head& head, int group, int query) const {
    return kept + (int64_t{head.index} * groups + group) * tokens + head.first + query;
  }
};

// This warp's rows of a block's context, for their products with its gradient. Four threads read a
// row, 16 bytes at a time. Threads that read together read whole sectors here, and different banks
// of the gradient in shared memory.
template <int kSize>
class ContextRows {
 public:
  // `context` points to the block's first row. Rows from `rows` on repeat the last one.
  __device__ ContextRows(const BFloat16* context, int stride, int rows) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = smaller(warp() * kWarpRows + row_of(2 * half), rows - 1);
#pragma unroll
      for (int i = 0; i < kPacks; ++i) {
        packs_[half][i] =
            *reinterpret_cast<const Pack<uint32_t, 4>*>(context + row * stride + chunk(i) * 8);
      }
    }
  }

  // Returns the sum over the row of elements 2 half and 2 half + 1 to its four threads.
  __device__ float times(const SharedTile<kSize, OwnLayout>& gradient, int half) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const auto other = *reinterpret_cast<const Pack<uint32_t, 4>*>(
          gradient.at(warp() * kWarpRows + row_of(2 * half), chunk(i)));
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        float a[2], b[2];
        unpack(BFloat16{}, packs_[half][i].values[word], a[0], a[1]);
        unpack(BFloat16{}, other.values[word], b[0], b[1]);
        sum += a[0] * b[0];
        sum += a[1] * b[1];
      }
    }
    return row_group_sum(sum);
  }

 private:
  static constexpr int kPacks = kSize / 32;
  static __device__ int chunk(int i) { return kPacks == 1 ? lane() % 4 : lane() % 8 ^ 4 * i; }

  Pack<uint32_t, 4> packs_[2][kPacks];
};

// Computes d_query; one block per tile of queries.
template <typename Gemm>
__global__ void __launch_bounds__(kAttentionThreads, kBlocksAtOnce)
    query_gradient_kernel(AttentionBackward op, ForKeys for_keys, bool side_by_side) {
  if constexpr (!Gemm::kCompiled) return stop_without_products();
  using Tile = typename Gemm::Tile;
  constexpr int kSize = Tile::kSize;
  __shared__ Tile keys[2], values[2];
  __shared__ DropoutRoundKeys round_keys;
  const TileOfBlock tile(op.sequences, side_by_side);
  const Head head(op.sequences, tile.sequence, static_cast<int>(blockIdx.y),
                  static_cast<int>(op.context.cols));
  const int first_query = tile.first_row;
  if (first_query >= head.length) return;
  const auto *qkv = op.qkv.as<BFloat16>(), *d_context = op.d_context.as<BFloat16>();
  const int stride = 3 * head.hidden, part_of_qkv = Tile::part(stride);
  const int rows = smaller(kTile, head.length - first_query);
  // Idle warps only help to copy tiles, and to multiply them if warps do so together.
  const bool idle = uniform_warp() * kWarpRows >= rows;
  Gemm::require_alignment(keys[0]);
  Gemm::require_alignment(values[0]);
  KeysAndValues<Tile> others(qkv, head);
  others.load_next(keys[0], values[0], head.length);
  keys[1].own().load_later(qkv + head.in_qkv<kSize>(first_query, kQuery) + part_of_qkv, stride,
                           rows);
  values[1].own().load_later(
      d_context + head.in_context<kSize>(first_query) + Tile::part(head.hidden), head.hidden, rows);
  const ContextRows<kSize> contexts(op.context.as<BFloat16>() + head.in_context<kSize>(first_query),
                                    head.hidden, rows);
  const HeadDropout dropout(op.dropout, head, round_keys);
  Gemm::wait_for_tiles();
  __syncthreads();
  LeftRows<kSize> queries, d_contexts;
  queries.load(keys[1].own());
  d_contexts.load(values[1].own());

  const float scale = kLog2E * rsqrtf(static_cast<float>(kSize));
  const float minus_keep = -1.0f / dropout.keep_scale;
  QueryStatistics of_rows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp() * kWarpRows + row_of(2 * half);
    const float log_sum_exp =
        op.log_sum_exp.as<float>()[head.statistic(op.heads, first_query + smaller(row, rows - 1))];
    of_rows[half] = {-log_sum_exp * kLog2E, minus_keep * contexts.times(values[1].own(), half)};
    if (lane() % 4 == 0 && row < rows) {
      *for_keys.statistics_of(head, first_query + row) = of_rows[half];
    }
  }
  // This thread's byte of its first row's masks.
  uint8_t* kept_here = reinterpret_cast<uint8_t*>(for_keys.kept_of(
                           head, 0, first_query + warp() * kWarpRows + row_of(0))) +
                       lane() % 4;
  Accumulator<kSize / 8> d_query = {};
  const Gemm gemm;
  int stage = 0;
#pragma unroll 1
  for (int first_key = 0; first_key < head.length; first_key += kTile, stage ^= 1) {
    __syncthreads();
    const int keys_here = head.length - first_key;
    const bool more = keys_here > kTile;
    if (more) others.load_next(keys[stage ^ 1], values[stage ^ 1], keys_here - kTile);
    constexpr int kPart = Gemm::kQueryPart;
    const auto to_gradients = [&](int part, Accumulator<kPart>& scores,
                                  Accumulator<kPart>& d_scores) {
      drop<kPart>(dropout, first_query + warp() * kWarpRows, first_key + 8 * part, d_scores,
                  [&](int half, int, uint32_t mask) {
                    if (warp() * kWarpRows + row_of(2 * half) < rows) {
                      kept_here[half * 8 * 4] = static_cast<uint8_t>(mask);
                    }
                  });
      hide_beyond<kPart>(keys_here - 8 * part, scores);
#pragma unroll
      for (int t = 0; t < kPart; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float p = exp2_approximately(fmaf(scores[t][i], scale, of_rows[i / 2].shift));
          d_scores[t][i] = p * (d_scores[t][i] + of_rows[i / 2].minus_delta);
        }
      }
      static_assert(kPart == 4);
      kept_here += for_keys.tokens * 4;  // the next 32 keys
    };
#pragma unroll Gemm::kQueryUnroll
    for (int part = 0; part < kTile / 8 && 8 * part < keys_here; part += kPart) {
      if (!Gemm::kWarpsTogether && idle) break;
      Accumulator<kPart> scores, d_scores;
      gemm.multiply_transposed(queries, keys[stage], part, scores);
      gemm.multiply_transposed(d_contexts, values[stage], part, d_scores);
      gemm.template finish<kPart, kPart>(scores, d_scores);
      if (!idle) to_gradients(part, scores, d_scores);
      gemm.multiply_add(d_scores, keys[stage], part, d_query);
      gemm.template finish<kSize / 8>(d_query);
    }
    if (more) Gemm::wait_for_tiles();
  }
  const float back = dropout.keep_scale * rsqrtf(static_cast<float>(kSize));
  Float8Writer<E5M2> copy(op.d_qkv_float8);
  store_rows<kSize>(d_query, {back, back}, rows, op.d_qkv.as<BFloat16>(), copy,
                    head.in_qkv<kSize>(first_query, kQuery), stride);
  copy.finish();
}

// Returns x if `bit` of `mask` is set, else 0.
__device__ inline float unless_cleared(float x, uint32_t mask, uint32_t bit) {
#ifdef __CUDA_ARCH__
  // In plain C++, compilers would shift the bit down first.
  float result;
  asm("{ .reg .pred set; .reg .b32 one; and.b32 one, %2, %3; setp.ne.b32 set, one, 0;"
      " selp.f32 %0, %1, 0f00000000, set; }"
      : "=f"(result)
      : "f"(x), "r"(mask), "r"(bit));
  return result;
#else
  return (mask & bit) != 0 ? x : 0.0f;
#endif
}

// A tile's queries in the order of their columns: a thread's two are neighbours, and concurrent
// reads use different banks.
struct alignas(16) SharedStatistics {
  QueryStatistics of_columns[kTile];
};
struct alignas(8) SharedMasks {
  uint32_t of_columns[2][kTile];  // masks of 32 keys each
};

// Computes d_key and d_value; one block per tile of keys. Everything is transposed: rows are keys.
template <typename Gemm>
__global__ void __launch_bounds__(kAttentionThreads, kBlocksAtOnce)
    key_value_gradient_kernel(AttentionBackward op, ForKeys for_keys, bool side_by_side) {
  if constexpr (!Gemm::kCompiled) return stop_without_products();
  using Tile = typename Gemm::Tile;
  constexpr int kSize = Tile::kSize;
  __shared__ Tile queries[2], d_contexts[2];
  __shared__ SharedStatistics shared_statistics[2];
  __shared__ SharedMasks shared_masks[2];
  const TileOfBlock tile(op.sequences, side_by_side);
  const Head head(op.sequences, tile.sequence, static_cast<int>(blockIdx.y),
                  static_cast<int>(op.context.cols));
  const int first_key = tile.first_row;
  if (first_key >= head.length) return;
  const auto *qkv = op.qkv.as<BFloat16>(), *d_context = op.d_context.as<BFloat16>();
  const int stride = 3 * head.hidden;
  const int rows = smaller(kTile, head.length - first_key);
  const bool idle = uniform_warp() * kWarpRows >= rows;
  const bool drops = op.dropout.probability > 0.0f;
  const float keep_scale = keep_scale_of(op.dropout);
  const int part_of_qkv = Tile::part(stride);
  const BFloat16* next_queries = qkv + head.in_qkv<kSize>(0, kQuery) + part_of_qkv;
  const BFloat16* next_d_contexts = d_context + head.in_context<kSize>(0) + Tile::part(head.hidden);
  // Each thread copies one query's masks of 32 keys; half of the threads also copy its statistics.
  const int column = static_cast<int>(threadIdx.x) % kTile,
            group = static_cast<int>(threadIdx.x) / kTile, query_of_thread = row_of_column(column);
  const QueryStatistics* next_statistics = for_keys.statistics_of(head, query_of_thread);
  const uint32_t* next_kept = for_keys.kept_of(head, first_key / 32 + group, query_of_thread);
  const auto load_next = [&](int stage, int queries_here) {
    queries[stage].load_later(next_queries, stride, queries_here);
    d_contexts[stage].load_later(next_d_contexts, head.hidden, queries_here);
    next_queries += kTile * stride;
    next_d_contexts += kTile * head.hidden;
    const bool there = query_of_thread < queries_here;
    if (group == 0) {
      copy_later<8>(&shared_statistics[stage].of_columns[column], next_statistics, there);
    }
    next_statistics += kTile;
    if (drops) {
      copy_later<4>(&shared_masks[stage].of_columns[group][column], next_kept, there);
      next_kept += kTile;
    }
  };
  Gemm::require_alignment(queries[0]);
  Gemm::require_alignment(d_contexts[0]);
  load_next(0, head.length);
  queries[1].own().load_later(qkv + head.in_qkv<kSize>(first_key, kKey) + part_of_qkv, stride,
                              rows);
  d_contexts[1].own().load_later(qkv + head.in_qkv<kSize>(first_key, kValue) + part_of_qkv, stride,
                                 rows);
  Gemm::wait_for_tiles();
  __syncthreads();
  // The bits of this thread's rows in masks of 32 keys.
  const uint32_t first_bit = 1u << (warp() % 2 * kWarpRows + lane() / 4),
                 bits[2] = {first_bit, first_bit << 8};
  LeftRows<kSize> keys, values;
  keys.load(queries[1].own());
  values.load(d_contexts[1].own());

  const float scale = kLog2E * rsqrtf(static_cast<float>(kSize));
  Accumulator<kSize / 8> d_key = {}, d_value = {};
  const Gemm gemm;
  int stage = 0;
#pragma unroll 1
  for (int first_query = 0; first_query < head.length; first_query += kTile, stage ^= 1) {
    __syncthreads();
    const int queries_here = head.length - first_query;
    const bool more = queries_here > kTile;
    if (more) load_next(stage ^ 1, queries_here - kTile);
    int masks_at = stage * int{sizeof(SharedMasks)} + (warp() / 2 * kTile + column_of(0, 0)) * 4;
#ifdef __CUDA_ARCH__
    asm("" : "+r"(masks_at));  // otherwise it is recomputed at every use
#endif
    constexpr int kPart = Gemm::kKeyPart;
    const auto to_gradients = [&](int part, Accumulator<kPart>& scores,
                                  Accumulator<kPart>& d_scores) {
#pragma unroll
      for (int t = 0; t < kPart; ++t) {
        // This thread's two consecutive queries.
        const int two = column_of(part + t, 0);
        const auto of_two =
            *reinterpret_cast<const Pack<float, 4>*>(shared_statistics[stage].of_columns + two);
        Pack<uint32_t, 2> masks = {{0xffffffffu, 0xffffffffu}};
        if (drops) {
          masks = *reinterpret_cast<const Pack<uint32_t, 2>*>(
              reinterpret_cast<const char*>(shared_masks) + masks_at + 32 * (part + t));
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float p = exp2_approximately(fmaf(scores[t][i], scale, of_two.values[i % 2 * 2]));
          const float kept_p = unless_cleared(p, masks.values[i % 2], bits[i / 2]);
          d_scores[t][i] = fmaf(kept_p, d_scores[t][i], p * of_two.values[i % 2 * 2 + 1]);
          scores[t][i] = kept_p;
        }
      }
    };
#pragma unroll Gemm::kKeyUnroll
    for (int part = 0; part < kTile / 8; part += kPart) {
      if ((!Gemm::kWarpsTogether && idle) || part / 4 * 32 >= queries_here) break;
      Accumulator<kPart> scores, d_scores;
      gemm.multiply_transposed(keys, queries[stage], part, scores);
      gemm.multiply_transposed(values, d_contexts[stage], part, d_scores);
      gemm.template finish<kPart, kPart>(scores, d_scores);
      if (!idle) to_gradients(part, scores, d_scores);
      gemm.multiply_add(scores, d_contexts[stage], part, d_value);
      gemm.multiply_add(d_scores, queries[stage], part, d_key);
      gemm.template finish<kSize / 8, kSize / 8>(d_value, d_key);
    }
    if (more) Gemm::wait_for_tiles();
  }
  const float back = keep_scale * rsqrtf(static_cast<float>(kSize));
  auto* d_qkv = op.d_qkv.as<BFloat16>();
  Float8Writer<E5M2> copy(op.d_qkv_float8);
  store_rows<kSize>(d_key, {back, back}, rows, d_qkv, copy, head.in_qkv<kSize>(first_key, kKey),
                    stride);
  store_rows<kSize>(d_value, {keep_scale, keep_scale}, rows, d_qkv, copy,
                    head.in_qkv<kSize>(first_key, kValue), stride);
  copy.finish();
}

// ---- Entry points for a backend, with Gemm for its heads' size

// Prefers shared memory over cache on multiprocessors that run these kernels. Their reads pass
// through shared memory, which must hold as many blocks as registers allow.
class SharedMemoryFirst {
 public:
  template <typename... Kernels>
  explicit SharedMemoryFirst(Kernels... kernels) {
    (check(cudaFuncSetAttribute(kernels, cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared),
           "asking for shared memory"),
     ...);
  }
};

template <typename Gemm>
void launch_attention_forward(const Context& context, const AttentionForward& op) {
  static const SharedMemoryFirst once(attention_forward_kernel<Gemm>);
  const Blocks blocks = blocks_of(op.sequences, op.heads, op.context.rows);
  launch(context.stream, blocks.grid, kAttentionThreads, attention_forward_kernel<Gemm>, op,
         blocks.side_by_side);
}

template <typename Gemm>
void launch_attention_backward(const Context& context, const AttentionBackward& op) {
  static const SharedMemoryFirst once(query_gradient_kernel<Gemm>, key_value_gradient_kernel<Gemm>);
  const Blocks blocks = blocks_of(op.sequences, op.heads, op.context.rows);
  ForKeys for_keys{
      .statistics = context.scratch[0].get<QueryStatistics>(op.log_sum_exp.size()),
      .kept = nullptr,
      .tokens = op.context.rows,
      .groups = static_cast<int>(ceil_div(op.sequences.max_length, kTile)) * (kTile / 32)};
  if (op.dropout.probability > 0.0f) {
    for_keys.kept = context.scratch[2].get<uint32_t>(op.heads * for_keys.tokens * for_keys.groups);
  }
  launch(context.stream, blocks.grid, kAttentionThreads, query_gradient_kernel<Gemm>, op, for_keys,
         blocks.side_by_side);
  launch(context.stream, blocks.grid, kAttentionThreads, key_value_gradient_kernel<Gemm>, op,
         for_keys, blocks.side_by_side);
}

}  // namespace strata::device::cuda
