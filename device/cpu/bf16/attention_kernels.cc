#include "device/cpu/bf16/attention_kernels.h"

#include <algorithm>

#include "device/cpu/bf16/products.h"
#include "device/cpu/kernels/dropout_row.h"

namespace strata::device::cpu {
namespace {

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

// Queries whose probabilities are held at once, and of these whose scores are: multiples of a tile.
constexpr int64_t kForwardBlock = 48;
constexpr int64_t kBackwardBlock = 96, kBackwardScores = 12;

// Keys whose weights lie together, where they are the rows of a left operand: tiles, and an odd
// number of cache lines, which share no few sets of the cache.
constexpr int64_t kKeyGroup = 48;

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Memory handed out in pieces; without any it counts.
class Pieces {
 public:
  explicit Pieces(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <typename T>
  T* take(int64_t count) {
    char* piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += rounded_up(count * static_cast<int64_t>(sizeof(T)), 64);
    return reinterpret_cast<T*>(piece);
  }
  int64_t used() const { return used_; }

 private:
  char* memory_;
  int64_t used_ = 0;
};

// What a head's matrices are laid out by.
struct Sizes {
  int64_t n, d;
  int64_t keys;       // n, rounded up to whole registers
  int64_t key_pairs;  // that count
  int64_t packed;     // pairs of keys transposed, in whole groups
  int64_t weights;    // pairs of a block's weights, by groups of keys

  Sizes(int64_t length, int64_t head_size)
      : n(length),
        d(head_size),
        keys(rounded_up(length, kWords)),
        key_pairs((length + 1) / 2),
        packed(head_size / 2 * rounded_up(length, kGroup)),
        weights(kBackwardBlock / 2 * rounded_up(length, kKeyGroup)) {}

  Right transposed(const Pair* data) const { return {data, kGroup, d / 2 * kGroup}; }
  Right rows(const Pair* data) const { return {data, d, kGroup}; }
};

struct ForwardMemory {
  Pair *keys, *values;
  float* scores;
  uint16_t* probabilities;
  uint32_t* kept;
  int64_t bytes;

  ForwardMemory(const Sizes& size, void* memory) {
    Pieces pieces(memory);
    keys = pieces.take<Pair>(size.packed);
    values = pieces.take<Pair>(size.key_pairs * size.d);
    scores = pieces.take<float>(kForwardBlock * size.keys);
    probabilities = pieces.take<uint16_t>(kForwardBlock * size.keys);
    kept = pieces.take<uint32_t>(rounded_up(size.keys, 64) / 32);
    bytes = pieces.used();
  }
};

struct BackwardMemory {
  Pair *keys, *values;    // transposed
  Pair* key_rows;         // pairs of keys
  Pair *queries, *d_out;  // pairs of queries of a block
  float *scores, *d_probabilities;
  Pair *probabilities, *d_scores;  // pairs of queries of a block
  uint16_t* d_score_rows;
  float *d_keys, *d_values;  // of the blocks so far
  uint32_t* kept;            // two rows
  int64_t kept_row;
  int64_t bytes;

  BackwardMemory(const Sizes& size, void* memory) {
    Pieces pieces(memory);
    keys = pieces.take<Pair>(size.packed);
    values = pieces.take<Pair>(size.packed);
    key_rows = pieces.take<Pair>(size.key_pairs * size.d);
    queries = pieces.take<Pair>(kBackwardBlock / 2 * size.d);
    d_out = pieces.take<Pair>(kBackwardBlock / 2 * size.d);
    scores = pieces.take<float>(kBackwardScores * size.keys);
    d_probabilities = pieces.take<float>(kBackwardScores * size.keys);
    probabilities = pieces.take<Pair>(size.weights);
    d_scores = pieces.take<Pair>(size.weights);
    d_score_rows = pieces.take<uint16_t>(kBackwardBlock * size.keys);
    const bool one_block = size.n <= kBackwardBlock;
    d_keys = pieces.take<float>(one_block ? 0 : size.n * size.d);
    d_values = pieces.take<float>(one_block ? 0 : size.n * size.d);
    kept_row = rounded_up(size.keys, 64) / 32;
    kept = pieces.take<uint32_t>(2 * kept_row);
    bytes = pieces.used();
  }
};

// 2^x within 1e-7: a polynomial of the rest after a whole power. Below the least float it is 0.
[[gnu::always_inline]] inline __m512 exp2(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(x, whole);
  __m512 p = _mm512_set1_ps(0.001327646713f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.009675541239f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.05550713288f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.2402211973f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.6931469671f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.000000072f));
  return _mm512_scalef_ps(p, whole);
}

// Of the register at column c: the columns below n.
[[gnu::always_inline]] inline __mmask16 below(int64_t n, int64_t c) {
  return n - c >= kWords ? __mmask16{0xffff} : static_cast<__mmask16>((1u << (n - c)) - 1);
}

// Results that do not wait for each other.
constexpr int kChains = 4;

// Calls work(c, chain, mask) for the registers of n columns, whose chains are 0 to 3 in turn.
template <typename Work>
[[gnu::always_inline]] inline void for_each_register(int64_t n, const Work& work) {
  int64_t c = 0;
  for (; c + kChains * kWords <= n; c += kChains * kWords) {
    for (int chain = 0; chain < kChains; ++chain)
      work(c + chain * kWords, chain, __mmask16{0xffff});
  }
  for (int chain = 0; c < n; c += kWords, ++chain) work(c, chain, below(n, c));
}

// A row's columns that dropout keeps, a bit each.
void find_kept(const AttentionHead& head, int64_t query, uint32_t* kept) {
  dropout_kept(head.dropout, head.sample_id, head.head * 65536u + static_cast<uint32_t>(query),
               head.length, kept);
}
[[gnu::always_inline]] inline __mmask16 kept_at(const uint32_t* kept, int64_t c) {
  return static_cast<__mmask16>(kept[c / 32] >> (c % 32));
}

float scale_of(const AttentionHead& head) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(head.d));
}

// From raw scores [keys] of a query to its probabilities, dropped out; zero beyond the sequence.
void softmax_row(const AttentionHead& head, int64_t query, const Sizes& size, float* scores,
                 uint32_t* kept, uint16_t* probabilities) {
  const float scale = scale_of(head);
  __m512 highest[kChains];
  for (__m512& chain : highest) chain = _mm512_set1_ps(-__builtin_inff());
  for_each_register(size.n, [&](int64_t c, int chain, __mmask16 mask) {
    highest[chain] =
        _mm512_mask_max_ps(highest[chain], mask, highest[chain], _mm512_loadu_ps(scores + c));
  });
  const float most = _mm512_reduce_max_ps(
      _mm512_max_ps(_mm512_max_ps(highest[0], highest[1]), _mm512_max_ps(highest[2], highest[3])));
  const __m512 factor = _mm512_set1_ps(scale * kLog2E);
  const __m512 offset = _mm512_set1_ps(-most * scale * kLog2E);
  __m512 sums[kChains];
  for (__m512& chain : sums) chain = _mm512_setzero_ps();
  for_each_register(size.n, [&](int64_t c, int chain, __mmask16 mask) {
    const __m512 power = exp2(_mm512_fmadd_ps(_mm512_loadu_ps(scores + c), factor, offset));
    _mm512_storeu_ps(scores + c, power);
    sums[chain] = _mm512_mask_add_ps(sums[chain], mask, sums[chain], power);
  });
  const float sum = _mm512_reduce_add_ps(
      _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
  head.log_sum_exp[query * head.log_sum_exp_stride] = most * scale + __builtin_logf(sum);
  const bool drops = head.dropout.probability > 0.0f;
  if (drops) find_kept(head, query, kept);
  const __m512 share = _mm512_set1_ps((drops ? head.dropout.keep_scale() : 1.0f) / sum);
  for (int64_t c = 0; c < size.keys; c += kWords) {
    __mmask16 mask = below(size.n, c);
    if (drops) mask &= kept_at(kept, c);
    put(probabilities + c, _mm512_maskz_mul_ps(mask, _mm512_loadu_ps(scores + c), share));
  }
}

void forward(const AttentionHead& head, uint16_t* context, int64_t context_stride, void* scratch) {
  const Sizes size(head.length, head.d);
  const ForwardMemory memory(size, scratch);
  pack_transposed(size.n, size.d, head.key, head.stride, memory.keys);
  pack_row_pairs(size.n, size.d, head.value, head.stride, memory.values);
  for (int64_t first = 0; first < size.n; first += kForwardBlock) {
    const int64_t rows = std::min(kForwardBlock, size.n - first);
    product<float>(
        rows, size.keys, size.d / 2,
        {reinterpret_cast<const Pair*>(head.query + first * head.stride), head.stride / 2, 1},
        size.transposed(memory.keys), {memory.scores, size.keys});
    for (int64_t row = 0; row < rows; ++row) {
      softmax_row(head, first + row, size, memory.scores + row * size.keys, memory.kept,
                  memory.probabilities + row * size.keys);
    }
    product<uint16_t>(rows, size.d, size.key_pairs,
                      {reinterpret_cast<const Pair*>(memory.probabilities), size.keys / 2, 1},
                      size.rows(memory.values), {context + first * context_stride, context_stride});
  }
}

// Probabilities, dropped out, and gradients of the raw scores, of one register.
struct Recomputed {
  __m512 probability, d_score;
};

// What is the same for a row of queries.
struct RowConstants {
  __m512 log2_sum, delta;
  const uint32_t* kept;  // null: all
};

RowConstants row_constants(const AttentionHead& head, const AttentionHeadGradients& gradients,
                           int64_t query, uint32_t* kept) {
  const bool drops = head.dropout.probability > 0.0f;
  if (drops) find_kept(head, query, kept);
  return {_mm512_set1_ps(-kLog2E * head.log_sum_exp[query * head.log_sum_exp_stride]),
          _mm512_set1_ps(gradients.delta[query]), drops ? kept : nullptr};
}

[[gnu::always_inline]] inline Recomputed recompute(const RowConstants& row, __mmask16 counts,
                                                   int64_t c, const float* scores,
                                                   const float* d_probabilities, __m512 factor,
                                                   __m512 keep_scale, __m512 scale) {
  const __mmask16 kept =
      row.kept == nullptr ? counts : static_cast<__mmask16>(counts & kept_at(row.kept, c));
  const __m512 p = exp2(_mm512_fmadd_ps(_mm512_loadu_ps(scores + c), factor, row.log2_sum));
  const __m512 from_out =
      _mm512_maskz_mul_ps(kept, _mm512_loadu_ps(d_probabilities + c), keep_scale);
  return {_mm512_maskz_mul_ps(kept, p, keep_scale),
          _mm512_maskz_mul_ps(counts, _mm512_mul_ps(p, scale), _mm512_sub_ps(from_out, row.delta))};
}

// Both rows' numbers side by side, as one register of pairs: lower halves are the first row's.
[[gnu::always_inline]] inline __m512i rounded(__m512 first, __m512 second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
}
[[gnu::always_inline]] inline __m512i interleaved(__m512i rows) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rows);
}

// In memory of a block's weights, of the first pair of queries: of key c, a multiple of 16.
int64_t place_of_weights(int64_t c) {
  return c / kKeyGroup * (kBackwardBlock / 2 * kKeyGroup) + c % kKeyGroup;
}

// Of queries `query` and the next, if there is one, whose scores lie one below the other: pairs of
// probabilities and of score gradients [keys], and the latter's rows.
void softmax_backward_pair(const AttentionHead& head, const AttentionHeadGradients& gradients,
                           int64_t query, const Sizes& size, const BackwardMemory& memory,
                           const float* scores, const float* d_probabilities, Pair* probabilities,
                           Pair* d_scores, uint16_t* d_score_rows) {
  const bool drops = head.dropout.probability > 0.0f;
  const bool two = query + 1 < size.n;
  const __m512 scale = _mm512_set1_ps(scale_of(head));
  const __m512 factor = _mm512_set1_ps(scale_of(head) * kLog2E);
  const __m512 keep_scale = _mm512_set1_ps(drops ? head.dropout.keep_scale() : 1.0f);
  const RowConstants first = row_constants(head, gradients, query, memory.kept);
  const RowConstants second =
      two ? row_constants(head, gradients, query + 1, memory.kept + memory.kept_row) : first;
  for (int64_t c = 0; c < size.keys; c += kWords) {
    const __mmask16 counts = below(size.n, c);
    const Recomputed one =
        recompute(first, counts, c, scores, d_probabilities, factor, keep_scale, scale);
    const Recomputed other = two ? recompute(second, counts, c, scores + size.keys,
                                             d_probabilities + size.keys, factor, keep_scale, scale)
                                 : Recomputed{_mm512_setzero_ps(), _mm512_setzero_ps()};
    const int64_t place = place_of_weights(c);
    _mm512_storeu_si512(probabilities + place,
                        interleaved(rounded(one.probability, other.probability)));
    const __m512i gradient = rounded(one.d_score, other.d_score);
    _mm512_storeu_si512(d_scores + place, interleaved(gradient));
    const auto store_row = [&](int64_t row, __m256i numbers) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(d_score_rows + row * size.keys + c), numbers);
    };
    store_row(0, _mm512_castsi512_si256(gradient));
    if (two) store_row(1, _mm512_extracti64x4_epi64(gradient, 1));
  }
}

void backward(const AttentionHead& head, const AttentionHeadGradients& gradients, void* scratch) {
  const Sizes size(head.length, head.d);
  const BackwardMemory memory(size, scratch);
  pack_transposed(size.n, size.d, head.key, head.stride, memory.keys);
  pack_transposed(size.n, size.d, head.value, head.stride, memory.values);
  pack_row_pairs(size.n, size.d, head.key, head.stride, memory.key_rows);
  for (int64_t first = 0; first < size.n; first += kBackwardBlock) {
    const int64_t rows = std::min(kBackwardBlock, size.n - first);
    const uint16_t* query = head.query + first * head.stride;
    const uint16_t* d_out = gradients.d_context + first * gradients.d_context_stride;
    for (int64_t row = 0; row < rows; row += kBackwardScores) {
      const int64_t some = std::min(kBackwardScores, rows - row);
      const auto scores_of = [&](const uint16_t* left, int64_t stride, const Pair* right,
                                 float* out) {
        product<float>(some, size.keys, size.d / 2,
                       {reinterpret_cast<const Pair*>(left + row * stride), stride / 2, 1},
                       size.transposed(right), {out, size.keys});
      };
      scores_of(query, head.stride, memory.keys, memory.scores);
      scores_of(d_out, gradients.d_context_stride, memory.values, memory.d_probabilities);
      for (int64_t i = 0; i < some; i += 2) {
        const int64_t pair = (row + i) / 2;
        softmax_backward_pair(
            head, gradients, first + row + i, size, memory, memory.scores + i * size.keys,
            memory.d_probabilities + i * size.keys, memory.probabilities + pair * kKeyGroup,
            memory.d_scores + pair * kKeyGroup, memory.d_score_rows + (row + i) * size.keys);
      }
    }
    product<uint16_t>(rows, size.d, size.key_pairs,
                      {reinterpret_cast<const Pair*>(memory.d_score_rows), size.keys / 2, 1},
                      size.rows(memory.key_rows),
                      {gradients.d_query + first * gradients.d_stride, gradients.d_stride});
    // Over queries: the blocks add up, and the last one's sums are rounded.
    const bool is_first = first == 0, is_last = first + rows == size.n;
    const auto add_up = [&](const Pair* weights, const uint16_t* x, int64_t stride, Pair* packed,
                            float* sums, uint16_t* out) {
      pack_row_pairs(rows, size.d, x, stride, packed);
      const Right right = size.rows(packed);
      const int64_t pairs = (rows + 1) / 2;
      for (int64_t key = 0; key < size.n; key += kKeyGroup) {
        const int64_t some = std::min(kKeyGroup, size.n - key);
        const Left left{weights + place_of_weights(key), 1, kKeyGroup};
        float* so_far = sums + key * size.d;
        const Out<const float> before{is_first ? nullptr : so_far, size.d};
        if (is_last) {
          product<float, uint16_t>(some, size.d, pairs, left, right, before,
                                   {out + key * gradients.d_stride, gradients.d_stride});
        } else {
          product<float, float>(some, size.d, pairs, left, right, before, {so_far, size.d});
        }
      }
    };
    add_up(memory.d_scores, query, head.stride, memory.queries, memory.d_keys, gradients.d_key);
    add_up(memory.probabilities, d_out, gradients.d_context_stride, memory.d_out, memory.d_values,
           gradients.d_value);
  }
}

}  // namespace

const Bf16Attention& bf16_attention() {
  static constexpr Bf16Attention kernels = {.forward_scratch =
                                                [](int64_t n, int64_t d) {
                                                  return ForwardMemory({n, d}, nullptr).bytes;
                                                },
                                            .backward_scratch =
                                                [](int64_t n, int64_t d) {
                                                  return BackwardMemory({n, d}, nullptr).bytes;
                                                },
                                            .forward = forward,
                                            .backward = backward};
  return kernels;
}

}  // namespace strata::device::cpu
