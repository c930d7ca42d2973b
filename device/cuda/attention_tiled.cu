// Self-attention in tiles of 64 queries x 64 keys on tensor cores. A block's four warps take 16
// rows of a tile each; the tiles of the other side pass by in shared memory.
#include <type_traits>

#include "device/cuda/attention.h"
#include "device/cuda/float8_writer.h"
#include "device/cuda/rows.h"
#include "device/cuda/tensor_cores.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kTile = 64;
constexpr int kWarpRows = 16;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2 = 0.693147180559945309f;

enum QkvPart { kQuery = 0, kKey = 1, kValue = 2 };

// One head of one sequence.
struct Head {
  int first, length;  // tokens
  int index;
  int64_t hidden;
  uint64_t sample_id;

  __device__ Head(const Sequences& sequences, int sequence, int index_, int64_t hidden_)
      : first(sequences.cu_seqlens[sequence]),
        length(sequences.cu_seqlens[sequence + 1] - first),
        index(index_),
        hidden(hidden_),
        sample_id(sequences.sample_ids[sequence]) {}

  // Where the head's part of token `at`'s row begins in qkv [T, 3 hidden], and in [T, hidden].
  template <int kSize>
  __device__ int64_t in_qkv(int at, QkvPart part) const {
    return (int64_t{first} + at) * 3 * hidden + part * hidden + index * kSize;
  }
  template <int kSize>
  __device__ int64_t in_context(int at) const {
    return (int64_t{first} + at) * hidden + index * kSize;
  }
  __device__ int64_t statistic(int heads, int at) const {
    return (int64_t{first} + at) * heads + index;
  }
};

// kTile rows of a head in shared memory. Rows are 16 bytes longer than they need be: eight
// neighbouring ones then start in different banks.
template <int kSize>
struct SharedTile {
  static constexpr int kStride = kSize + 8;
  alignas(16) uint16_t values[kTile * kStride];  // bits of bfloat16

  __device__ const uint16_t* at(int row, int column) const {
    return values + row * kStride + column;
  }

  // Copies rows [0, rows) of a matrix whose rows are `stride` elements apart, and zeros after them.
  // All threads of the block call together; they see the tile after __syncthreads.
  __device__ void load(const BFloat16* source, int64_t stride, int rows) {
    constexpr int kPacks = kSize / 8;
    // Two at a time, as below: more would take registers that tiles being multiplied need.
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kPacks; i += kThreads) {
      const int row = i / kPacks, column = i % kPacks * 8;
      Pack<uint16_t, 8> pack{};
      if (row < rows) {
        pack = *reinterpret_cast<const Pack<uint16_t, 8>*>(source + row * stride + column);
      }
      *reinterpret_cast<Pack<uint16_t, 8>*>(values + row * kStride + column) = pack;
    }
  }
};

// Which probabilities of a tile are kept: bit key % 8 of kept[query][key / 8].
struct SharedDropout {
  uint8_t kept[kTile][kTile / 8];
  // Here they take no registers while tiles are multiplied.
  uint64_t dropout_key, sample_id;

  // Before the __syncthreads that comes before the first fill.
  __device__ void begin(const Dropout& dropout, const Head& head) {
    if (threadIdx.x > 0 || dropout.probability == 0.0f) return;
    dropout_key = dropout.key();
    sample_id = head.sample_id;
  }
  __device__ void fill(const Dropout& dropout, const Head& head, int first_query, int first_key) {
    const uint32_t threshold = dropout.threshold();
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile / 8; i += kThreads) {
      const int query = i / (kTile / 8), block = i % (kTile / 8);
      const DropoutBits bits(dropout_key, sample_id,
                             static_cast<uint32_t>(head.index * 65536 + first_query + query),
                             static_cast<uint32_t>(first_key / 8 + block));
      uint32_t mask = 0;
#pragma unroll
      for (uint32_t key = 0; key < 8; ++key) {
        mask |= (bits.of(key) >= threshold ? 1u : 0u) << key;
      }
      kept[query][block] = static_cast<uint8_t>(mask);
    }
  }
  __device__ bool keeps(int query, int key) const {
    return ((kept[query][key / 8] >> (key % 8)) & 1) != 0;
  }
};

// A warp's [16, 8 kTiles] accumulator: tile t has columns [8 t, 8 t + 8).
template <int kTiles>
using Accumulator = float[kTiles][4];

// The row and column, in the warp's 16 rows, of element i of tile t.
__device__ inline int row_of(int i) { return lane() / 4 + i / 2 * 8; }
__device__ inline int column_of(int t, int i) { return 8 * t + lane() % 4 * 2 + i % 2; }

__device__ inline uint32_t pack(float low, float high) {
  return uint32_t{BFloat16(low).bits} | uint32_t{BFloat16(high).bits} << 16;
}

// Columns [16 step, 16 step + 16) of an accumulator, rounded, as a left operand.
__device__ inline void to_left(const float (*c)[4], int step, uint32_t (&left)[4]) {
  left[0] = pack(c[2 * step][0], c[2 * step][1]);
  left[1] = pack(c[2 * step][2], c[2 * step][3]);
  left[2] = pack(c[2 * step + 1][0], c[2 * step + 1][1]);
  left[3] = pack(c[2 * step + 1][2], c[2 * step + 1][3]);
}

// This warp's rows of a tile as left operands: a step takes 16 columns.
template <int kSize>
struct LeftRows {
  uint32_t steps[kSize / 16][4];

  __device__ void load(const SharedTile<kSize>& tile) {
    const int matrix = lane() / 8;
#pragma unroll
    for (int step = 0; step < kSize / 16; ++step) {
      load_matrices(steps[step], tile.at(warp() * kWarpRows + lane() % 8 + matrix % 2 * 8,
                                         16 * step + matrix / 2 * 8));
    }
  }
};

// c [16, 8 kTiles] = left [16, kSize] times rows [first, first + 8 kTiles) of right [kTile, kSize],
// transposed.
template <int kSize, int kTiles>
__device__ inline void multiply_transposed(const LeftRows<kSize>& left,
                                           const SharedTile<kSize>& right, int first,
                                           Accumulator<kTiles>& c) {
  const int matrix = lane() / 8;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) c[t][i] = 0.0f;
  }
#pragma unroll
  for (int step = 0; step < kSize / 16; ++step) {
#pragma unroll
    for (int t = 0; t < kTiles; t += 2) {
      uint32_t b[4];
      load_matrices(
          b, right.at(first + 8 * t + matrix / 2 * 8 + lane() % 8, 16 * step + matrix % 2 * 8));
      mma_16x8x16(c[t], left.steps[step], b[0], b[1]);
      mma_16x8x16(c[t + 1], left.steps[step], b[2], b[3]);
    }
  }
}

// c [16, kSize] += p [16, 8 kTiles], rounded, times rows [first, first + 8 kTiles) of tile [kTile,
// kSize].
template <int kSize, int kTiles>
__device__ inline void multiply_add(const Accumulator<kTiles>& p, const SharedTile<kSize>& tile,
                                    int first, Accumulator<kSize / 8>& c) {
  const int matrix = lane() / 8;
#pragma unroll
  for (int step = 0; step < kTiles / 2; ++step) {
    uint32_t left[4];
    to_left(p, step, left);
#pragma unroll
    for (int t = 0; t < kSize / 8; t += 2) {
      uint32_t right[4];
      load_matrices_transposed(
          right, tile.at(first + 16 * step + matrix % 2 * 8 + lane() % 8, 8 * t + matrix / 2 * 8));
      mma_16x8x16(c[t], left, right[0], right[1]);
      mma_16x8x16(c[t + 1], left, right[2], right[3]);
    }
  }
}

// Writes `scale` times this warp's rows of c that lie below `rows` to element `begin` and on of a
// matrix of `stride`, where that has memory, and of its copy.
template <int kSize, typename Writer>
__device__ inline void store_rows(const Accumulator<kSize / 8>& c, const float (&scale)[2],
                                  int rows, BFloat16* to, Writer& copy, int64_t begin,
                                  int64_t stride) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp() * kWarpRows + row_of(2 * half);
    if (row >= rows) continue;
    const int64_t at = begin + row * stride + column_of(0, 0);
#pragma unroll
    for (int t = 0; t < kSize / 8; ++t) {
      const float two[2] = {c[t][2 * half] * scale[half], c[t][2 * half + 1] * scale[half]};
      // Without products in 8 bits there is.
      if (!kHasFloat8 || to) store(to + at + 8 * t, two);
      copy.write(at + 8 * t, two);
    }
  }
}

// The four threads that share a row of an accumulator agree on a sum or a maximum.
__device__ inline float row_group_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
__device__ inline float row_group_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// Blocks count tiles of queries (or keys) within heads within sequences; many have nothing to do
// where sequences are shorter than the longest.
struct BlockPlace {
  int tile, head, sequence;

  __device__ BlockPlace(int tiles, int heads)
      : tile(static_cast<int>(blockIdx.x) % tiles),
        head(static_cast<int>(blockIdx.x) / tiles % heads),
        sequence(static_cast<int>(blockIdx.x) / tiles / heads) {}
};

__device__ inline int smaller(int a, int b) { return a < b ? a : b; }

template <int kSize>
__global__ void __launch_bounds__(kThreads) forward_kernel(AttentionForward op, int tiles) {
  __shared__ SharedTile<kSize> queries, keys, values;
  __shared__ SharedDropout dropout;
  const BlockPlace place(tiles, op.heads);
  const Head head(op.sequences, place.sequence, place.head, op.context.cols);
  const int first_query = place.tile * kTile;
  if (first_query >= head.length) return;
  const auto* qkv = op.qkv.as<BFloat16>();
  const int64_t stride = 3 * head.hidden;
  queries.load(qkv + head.in_qkv<kSize>(first_query, kQuery), stride, head.length - first_query);

  // Scores are in powers of two: exp(x) = 2^(x log2 e).
  const float scale = kLog2E * rsqrtf(static_cast<float>(kSize));
  const bool drops = op.dropout.probability > 0.0f;
  dropout.begin(op.dropout, head);
  Accumulator<kSize / 8> sums = {};
  float highest[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
  for (int first_key = 0; first_key < head.length; first_key += kTile) {
    const int keys_here = smaller(kTile, head.length - first_key);
    __syncthreads();
    keys.load(qkv + head.in_qkv<kSize>(first_key, kKey), stride, keys_here);
    values.load(qkv + head.in_qkv<kSize>(first_key, kValue), stride, keys_here);
    if (drops) dropout.fill(op.dropout, head, first_query, first_key);
    __syncthreads();
    Accumulator<kTile / 8> scores;
    LeftRows<kSize> of_queries;
    of_queries.load(queries);
    multiply_transposed(of_queries, keys, 0, scores);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = highest[half];
#pragma unroll
      for (int t = 0; t < kTile / 8; ++t) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[t][i] = column_of(t, i) < keys_here ? scores[t][i] * scale : -INFINITY;
          top = fmaxf(top, scores[t][i]);
        }
      }
      top = row_group_max(top);
      const float shrink = exp2f(highest[half] - top);
      highest[half] = top;
      total[half] *= shrink;
#pragma unroll
      for (int t = 0; t < kSize / 8; ++t) {
        sums[t][2 * half] *= shrink;
        sums[t][2 * half + 1] *= shrink;
      }
      float sum = 0.0f;
      const int row = warp() * kWarpRows + row_of(2 * half);
#pragma unroll
      for (int t = 0; t < kTile / 8; ++t) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          const float p = exp2f(scores[t][i] - top);
          sum += p;
          scores[t][i] = drops && !dropout.keeps(row, column_of(t, i)) ? 0.0f : p;
        }
      }
      total[half] += row_group_sum(sum);
    }
    multiply_add<kSize>(scores, values, 0, sums);
  }

  const float keep_scale = drops ? op.dropout.keep_scale() : 1.0f;
  const float inverse[2] = {keep_scale / total[0], keep_scale / total[1]};
  const int rows = smaller(kTile, head.length - first_query);
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
          highest[half] * kLn2 + logf(total[half]);
    }
  }
}

// In: a tile's raw scores and d_context . value. Out: probabilities after dropout, and the scores'
// gradients but for the factor 1 / sqrt(d).
struct ScoreGradient {
  float scale, keep_scale;
  bool drops;

  __device__ explicit ScoreGradient(const Dropout& dropout, int size)
      : scale(kLog2E * rsqrtf(static_cast<float>(size))),
        keep_scale(dropout.probability > 0.0f ? dropout.keep_scale() : 1.0f),
        drops(dropout.probability > 0.0f) {}

  // `log2_sum_exp` and `delta` of the query. `kept`: by dropout.
  __device__ void apply(float log2_sum_exp, float delta, bool valid, bool kept, float& score,
                        float& d_probability) const {
    const float p = valid ? exp2f(score * scale - log2_sum_exp) : 0.0f;
    const float factor = kept ? keep_scale : 0.0f;
    score = p * factor;
    d_probability = p * (d_probability * factor - delta);
  }
};

// Backward takes the columns of a tile in parts, so that registers are left for the block's own
// rows: they then need no shared memory, whose bandwidth is what limits it.
constexpr int kPart = 16;

// A block a tile of queries: d_query.
template <int kSize>
__global__ void __launch_bounds__(kThreads)
    query_gradient_kernel(AttentionBackward op, int tiles, const float* deltas) {
  __shared__ SharedTile<kSize> keys, values;
  __shared__ SharedDropout dropout;
  const BlockPlace place(tiles, op.heads);
  const Head head(op.sequences, place.sequence, place.head, op.context.cols);
  const int first_query = place.tile * kTile;
  if (first_query >= head.length) return;
  const auto *qkv = op.qkv.as<BFloat16>(), *d_context = op.d_context.as<BFloat16>();
  const int64_t stride = 3 * head.hidden;
  const int rows = smaller(kTile, head.length - first_query);
  const ScoreGradient gradient(op.dropout, kSize);
  dropout.begin(op.dropout, head);
  // The block's own rows pass through the memory of the others.
  keys.load(qkv + head.in_qkv<kSize>(first_query, kQuery), stride, rows);
  values.load(d_context + head.in_context<kSize>(first_query), head.hidden, rows);
  __syncthreads();
  LeftRows<kSize> queries, d_contexts;
  queries.load(keys);
  d_contexts.load(values);

  float log2_sum_exp[2], delta[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp() * kWarpRows + row_of(2 * half);
    const int64_t at = head.statistic(op.heads, first_query + smaller(row, rows - 1));
    log2_sum_exp[half] = op.log_sum_exp.as<float>()[at] * kLog2E;
    delta[half] = deltas[at];
  }
  Accumulator<kSize / 8> d_query = {};
  for (int first_key = 0; first_key < head.length; first_key += kTile) {
    const int keys_here = smaller(kTile, head.length - first_key);
    __syncthreads();
    keys.load(qkv + head.in_qkv<kSize>(first_key, kKey), stride, keys_here);
    values.load(qkv + head.in_qkv<kSize>(first_key, kValue), stride, keys_here);
    if (gradient.drops) dropout.fill(op.dropout, head, first_query, first_key);
    __syncthreads();
#pragma unroll 1
    for (int part = 0; part < keys_here; part += kPart) {
      Accumulator<kPart / 8> scores, d_scores;
      multiply_transposed(queries, keys, part, scores);
      multiply_transposed(d_contexts, values, part, d_scores);
#pragma unroll
      for (int t = 0; t < kPart / 8; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = warp() * kWarpRows + row_of(i), key = part + column_of(t, i);
          const bool kept = !gradient.drops || dropout.keeps(row, key);
          gradient.apply(log2_sum_exp[i / 2], delta[i / 2], key < keys_here, kept, scores[t][i],
                         d_scores[t][i]);
        }
      }
      multiply_add<kSize>(d_scores, keys, part, d_query);
    }
  }
  const float scale = rsqrtf(static_cast<float>(kSize));
  Float8Writer<E5M2> copy(op.d_qkv_float8);
  store_rows<kSize>(d_query, {scale, scale}, rows, op.d_qkv.as<BFloat16>(), copy,
                    head.in_qkv<kSize>(first_query, kQuery), stride);
  copy.finish();
}

// A block a tile of keys: d_key and d_value. Everything is transposed: rows are keys.
template <int kSize>
__global__ void __launch_bounds__(kThreads)
    key_value_gradient_kernel(AttentionBackward op, int tiles, const float* deltas) {
  __shared__ SharedTile<kSize> queries, d_contexts;
  __shared__ SharedDropout dropout;
  __shared__ float log2_sum_exps[kTile], deltas_here[kTile];
  const BlockPlace place(tiles, op.heads);
  const Head head(op.sequences, place.sequence, place.head, op.context.cols);
  const int first_key = place.tile * kTile;
  if (first_key >= head.length) return;
  const auto *qkv = op.qkv.as<BFloat16>(), *d_context = op.d_context.as<BFloat16>();
  const int64_t stride = 3 * head.hidden;
  const int rows = smaller(kTile, head.length - first_key);
  const ScoreGradient gradient(op.dropout, kSize);
  dropout.begin(op.dropout, head);
  queries.load(qkv + head.in_qkv<kSize>(first_key, kKey), stride, rows);
  d_contexts.load(qkv + head.in_qkv<kSize>(first_key, kValue), stride, rows);
  __syncthreads();
  LeftRows<kSize> keys, values;
  keys.load(queries);
  values.load(d_contexts);

  Accumulator<kSize / 8> d_key = {}, d_value = {};
  for (int first_query = 0; first_query < head.length; first_query += kTile) {
    const int queries_here = smaller(kTile, head.length - first_query);
    __syncthreads();
    queries.load(qkv + head.in_qkv<kSize>(first_query, kQuery), stride, queries_here);
    d_contexts.load(d_context + head.in_context<kSize>(first_query), head.hidden, queries_here);
    if (gradient.drops) dropout.fill(op.dropout, head, first_query, first_key);
    if (static_cast<int>(threadIdx.x) < queries_here) {
      const int64_t at = head.statistic(op.heads, first_query + static_cast<int>(threadIdx.x));
      log2_sum_exps[threadIdx.x] = op.log_sum_exp.as<float>()[at] * kLog2E;
      deltas_here[threadIdx.x] = deltas[at];
    }
    __syncthreads();
#pragma unroll 1
    for (int part = 0; part < queries_here; part += kPart) {
      Accumulator<kPart / 8> scores, d_scores;
      multiply_transposed(keys, queries, part, scores);
      multiply_transposed(values, d_contexts, part, d_scores);
#pragma unroll
      for (int t = 0; t < kPart / 8; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = warp() * kWarpRows + row_of(i), query = part + column_of(t, i);
          const bool valid = query < queries_here;
          const bool kept = !gradient.drops || dropout.keeps(query, row);
          gradient.apply(valid ? log2_sum_exps[query] : 0.0f, valid ? deltas_here[query] : 0.0f,
                         valid, kept, scores[t][i], d_scores[t][i]);
        }
      }
      multiply_add<kSize>(scores, d_contexts, part, d_value);
      multiply_add<kSize>(d_scores, queries, part, d_key);
    }
  }
  const float scale = rsqrtf(static_cast<float>(kSize));
  auto* d_qkv = op.d_qkv.as<BFloat16>();
  Float8Writer<E5M2> copy(op.d_qkv_float8);
  store_rows<kSize>(d_key, {scale, scale}, rows, d_qkv, copy, head.in_qkv<kSize>(first_key, kKey),
                    stride);
  store_rows<kSize>(d_value, {1.0f, 1.0f}, rows, d_qkv, copy, head.in_qkv<kSize>(first_key, kValue),
                    stride);
  copy.finish();
}

// Calls body(head size as a constant).
template <typename Body>
void with_head_size(int64_t size, const Body& body) {
  if (size == 64) return body(std::integral_constant<int, 64>{});
  body(std::integral_constant<int, 32>{});
}

int64_t tiles_of(const Sequences& sequences) { return ceil_div(sequences.max_length, kTile); }

}  // namespace

bool suits_tiled_attention(const ConstTensor& qkv, const ConstTensor& context, int32_t heads) {
  const int64_t size = context.cols / heads;
  return (size == 64 || size == 32) && rows_are_aligned(size, 8, qkv.data, context.data);
}

void tiled_attention_forward(const Context& context, const AttentionForward& op) {
  const int64_t tiles = tiles_of(op.sequences);
  with_head_size(op.context.cols / op.heads, [&](auto size) {
    launch(context.stream, tiles * op.heads * op.sequences.count, kThreads, forward_kernel<size()>,
           op, static_cast<int>(tiles));
  });
}

void tiled_attention_backward(const Context& context, const AttentionBackward& op) {
  const int64_t tiles = tiles_of(op.sequences), blocks = tiles * op.heads * op.sequences.count;
  float* deltas = context.scratch[0].get<float>(op.context.rows * op.heads);
  attention_deltas<BFloat16>(context, op, deltas);
  with_head_size(op.context.cols / op.heads, [&](auto size) {
    launch(context.stream, blocks, kThreads, query_gradient_kernel<size()>, op,
           static_cast<int>(tiles), deltas);
    launch(context.stream, blocks, kThreads, key_value_gradient_kernel<size()>, op,
           static_cast<int>(tiles), deltas);
  });
}

}  // namespace strata::device::cuda
