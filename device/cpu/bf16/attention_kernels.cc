// Attention of one head by AVX-512 BF16. Forward and backward are one file, because no other object
// file may hold their instructions.
#include "device/cpu/bf16/attention_kernels.h"

#include <algorithm>

#include "device/cpu/bf16/attention_scores.h"

namespace strata::device::cpu {
namespace {

constexpr float kLog2E = 1.44269504088896341f;

constexpr int kRegisters = kColumns / kWords;

// Computes x = 2^x in all registers, from a whole power of two and a polynomial. The error, 3e-6,
// is far below the precision of bf16. Results below the smallest float are 0.
template <int kRegisters>
[[gnu::always_inline]] inline void exp2(__m512 (&x)[kRegisters]) {
  constexpr float kCoefficients[] = {0.05591786032f, 0.2402474483f, 0.6931218147f, 0.9999992614f};
  __m512 whole[kRegisters], p[kRegisters];
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; ++i) {
    whole[i] = _mm512_roundscale_ps(x[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    p[i] = _mm512_set1_ps(0.009570101911f);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; ++i) x[i] = _mm512_sub_ps(x[i], whole[i]);
#pragma GCC unroll 4
  for (const float coefficient : kCoefficients) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      p[i] = _mm512_fmadd_ps(p[i], x[i], _mm512_set1_ps(coefficient));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; ++i) x[i] = _mm512_scalef_ps(p[i], whole[i]);
}

float highest_score(const float* scores, int64_t n) {
  __m512 highest[kRegisters];
  for (__m512& some : highest) some = _mm512_set1_ps(-__builtin_inff());
  for_each_group(n, [&](int64_t c, uint64_t counted) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      highest[i] = _mm512_mask_max_ps(highest[i], of_register(counted, i), highest[i],
                                      _mm512_loadu_ps(scores + c + i * kWords));
    }
  });
  return _mm512_reduce_max_ps(
      _mm512_max_ps(_mm512_max_ps(highest[0], highest[1]), _mm512_max_ps(highest[2], highest[3])));
}

// Interleaves both registers' numbers, rounded to bf16; masked-out ones are zero.
[[gnu::always_inline]] inline __m512i rounded(__mmask32 mask, __m512 first, __m512 second) {
  return reinterpret_cast<__m512i>(_mm512_maskz_cvtne2ps_pbh(mask, second, first));
}

// Converts a query's raw scores to the weights of its values: the exponential of the distance to
// the highest score, or zero if dropped or beyond the sequence. `kept` is null without dropout.
// Returns the sum of all exponentials.
[[gnu::always_inline]] inline float softmax_row(int64_t n, float score_factor, float highest,
                                                const float* scores, const uint64_t* kept,
                                                uint16_t* weights) {
  const __m512 factor = _mm512_set1_ps(score_factor * kLog2E);
  const __m512 offset = _mm512_set1_ps(-highest * score_factor * kLog2E);
  __m512 sums[kRegisters];
#pragma GCC unroll 4
  for (__m512& some : sums) some = _mm512_setzero_ps();
  for_each_group(n, [&](int64_t c, uint64_t counted) {
    const uint64_t weighed = kept == nullptr ? counted : counted & kept[c / kColumns];
    __m512 powers[kRegisters];
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      powers[i] = _mm512_fmadd_ps(_mm512_loadu_ps(scores + c + i * kWords), factor, offset);
    }
    exp2(powers);
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      sums[i] = _mm512_mask_add_ps(sums[i], of_register(counted, i), sums[i], powers[i]);
    }
    _mm512_storeu_si512(weights + c,
                        rounded(static_cast<__mmask32>(weighed), powers[0], powers[1]));
    _mm512_storeu_si512(weights + c + 2 * kWords,
                        rounded(static_cast<__mmask32>(weighed >> 32), powers[2], powers[3]));
  });
  return _mm512_reduce_add_ps(
      _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

void forward(const AttentionHead<uint16_t>& head, uint16_t* context, int64_t context_stride,
             void* scratch) {
  const Sizes size(head.length, head.d);
  const Factors factors(head);
  const ForwardMemory memory(size, scratch);
  pack_transposed(size.n, size.d, head.key, head.stride, memory.keys);
  pack_row_pairs(size.n, size.d, head.value, head.stride, memory.values);
  for (int64_t first = 0; first < size.n; first += kForwardBlock) {
    const int64_t rows = std::min(kForwardBlock, size.n - first);
    float highest[kForwardBlock], sums[kForwardBlock];
    for (int64_t row = 0; row < rows; row += kScored) {
      const int64_t scored = std::min(kScored, rows - row);
      find_scores(head, size, factors, first + row, scored, memory.keys, memory.scores,
                  memory.kept);
      for (int64_t i = 0; i < scored; ++i) {
        highest[row + i] = highest_score(memory.scores + i * size.row, size.n);
      }
      for (int64_t i = 0; i < scored; ++i) {
        sums[row + i] =
            softmax_row(size.n, factors.scores, highest[row + i], memory.scores + i * size.row,
                        factors.drops ? memory.kept + i * size.row / kColumns : nullptr,
                        memory.weights + (row + i) * size.row);
      }
    }
    product<float>(rows, size.d, size.key_pairs,
                   {reinterpret_cast<const Pair*>(memory.weights), size.row / 2, 1},
                   size.rows(memory.values), {memory.sums, size.d});
    for (int64_t row = 0; row < rows; ++row) {
      head.log_sum_exp[(first + row) * head.log_sum_exp_stride] =
          highest[row] * factors.scores + __builtin_logf(sums[row]);
      const __m512 share = _mm512_set1_ps(factors.kept / sums[row]);
      for (int64_t c = 0; c < size.d; c += kWords) {
        put(context + (first + row) * context_stride + c,
            _mm512_mul_ps(_mm512_loadu_ps(memory.sums + row * size.d + c), share));
      }
    }
  }
}

// Replaces a query's raw scores with its probabilities times keep_scale, computed as 2^(score *
// factor + offset). Returns the sum over keys of probability times its gradient, divided by
// keep_scale. It sums in f32 instead of using the context, because rounding of the context to bf16
// may exceed the differences of gradients, for example if all tokens are alike. The quotient of two
// sums cancels the error of the exponentials.
[[gnu::always_inline]] inline float probabilities_of_row(int64_t n, float score_factor,
                                                         float offset_of_row, float* scores,
                                                         const uint64_t* kept,
                                                         const float* d_probabilities) {
  const __m512 factor = _mm512_set1_ps(score_factor * kLog2E);
  const __m512 offset = _mm512_set1_ps(offset_of_row);
  __m512 sums[kRegisters], dots[kRegisters];
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; ++i) sums[i] = dots[i] = _mm512_setzero_ps();
  for_each_group(n, [&](int64_t c, uint64_t counted) {
    const uint64_t weighed = kept == nullptr ? counted : counted & kept[c / kColumns];
    // All loads come before the stores, because the processor may take their addresses for
    // conflicting ones.
    __m512 powers[kRegisters], gradients[kRegisters];
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      powers[i] = _mm512_fmadd_ps(_mm512_loadu_ps(scores + c + i * kWords), factor, offset);
      gradients[i] = _mm512_loadu_ps(d_probabilities + c + i * kWords);
    }
    exp2(powers);
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      sums[i] = _mm512_mask_add_ps(sums[i], of_register(counted, i), sums[i], powers[i]);
      dots[i] = _mm512_mask3_fmadd_ps(powers[i], gradients[i], dots[i], of_register(weighed, i));
      _mm512_storeu_ps(scores + c + i * kWords, powers[i]);
    }
  });
  const auto total = [](const __m512(&x)[kRegisters]) {
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(x[0], x[1]), _mm512_add_ps(x[2], x[3])));
  };
  return total(dots) / total(sums);
}

// The constants of a row of queries.
struct RowConstants {
  __m512 delta;
  const uint64_t* kept;  // null: keep all
  bool exists;
};

RowConstants row_constants(const AttentionHead<uint16_t>& head, const Factors& factors,
                           int64_t query, const uint64_t* kept, float delta) {
  if (query >= head.length) return {_mm512_setzero_ps(), nullptr, false};
  return {_mm512_set1_ps(-delta * factors.scores), factors.drops ? kept : nullptr, true};
}

[[gnu::always_inline]] inline __m512i interleaved(__m512i rows) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rows);
}

// Returns the position of key c (a multiple of 16) of a block's first pair of queries in
// probabilities and d_scores. Each further pair lies kKeyGroup later.
int64_t place_of_weights(int64_t c) {
  return c / kKeyGroup * (kBackwardBlock / 2 * kKeyGroup) + c % kKeyGroup;
}

// Processes `query` and, if it exists, query + 1, whose rows of scores are size.row apart. Writes
// pairs of both queries' probabilities after dropout, and of the gradients of their raw scores, at
// place_of_weights(). Writes these gradients also as rows. `scaled` and `deltas` are the results of
// probabilities_of_row().
void softmax_backward_pair(const AttentionHead<uint16_t>& head, const Factors& factors,
                           int64_t query, const Sizes& size, const uint64_t* kept,
                           const float* deltas, const float* scaled, const float* d_probabilities,
                           Pair* probabilities, Pair* d_scores, uint16_t* d_score_rows) {
  const __m512 scale = _mm512_set1_ps(factors.scores);
  const RowConstants both[2] = {
      row_constants(head, factors, query, kept, deltas[0]),
      row_constants(head, factors, query + 1, kept + size.row / kColumns, deltas[1])};
  const auto two_registers = [&](int64_t c, uint32_t counted) {
    // Bits of the first row.
    uint32_t counted_in[2], kept_in[2];
    __m512 powers[4], gradient[4];
#pragma GCC unroll 2
    for (int row = 0; row < 2; ++row) {
      counted_in[row] = both[row].exists ? counted : 0;
      kept_in[row] = counted_in[row];
      if (both[row].kept != nullptr) {
        kept_in[row] &= static_cast<uint32_t>(both[row].kept[c / kColumns] >> (c % kColumns));
      }
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        powers[2 * row + i] = _mm512_loadu_ps(scaled + row * size.row + c + i * kWords);
        const __m512 from_out = _mm512_loadu_ps(d_probabilities + row * size.row + c + i * kWords);
        gradient[2 * row + i] = _mm512_mul_ps(
            powers[2 * row + i],
            _mm512_mask3_fmadd_ps(from_out, scale, both[row].delta,
                                  static_cast<__mmask16>(kept_in[row] >> (i * kWords))));
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const int64_t place = place_of_weights(c + i * kWords);
      const auto of_both = [&](const uint32_t(&bits)[2]) {
        return _mm512_kunpackw(static_cast<__mmask32>(bits[1] >> (i * kWords)),
                               static_cast<__mmask32>(bits[0] >> (i * kWords)));
      };
      _mm512_storeu_si512(probabilities + place,
                          interleaved(rounded(of_both(kept_in), powers[i], powers[2 + i])));
      const __m512i d_score = rounded(of_both(counted_in), gradient[i], gradient[2 + i]);
      _mm512_storeu_si512(d_scores + place, interleaved(d_score));
      const auto store_row = [&](int64_t row, __m256i numbers) {
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(d_score_rows + row * size.row + c + i * kWords), numbers);
      };
      store_row(0, _mm512_castsi512_si256(d_score));
      store_row(1, _mm512_extracti64x4_epi64(d_score, 1));
    }
  };
  for_each_group(size.n, [&](int64_t c, uint64_t counted) {
    two_registers(c, static_cast<uint32_t>(counted));
    two_registers(c + 2 * kWords, static_cast<uint32_t>(counted >> 32));
  });
}

void backward(const AttentionHead<uint16_t>& head,
              const AttentionHeadGradients<uint16_t>& gradients, void* scratch) {
  const Sizes size(head.length, head.d);
  const Factors factors(head);
  const BackwardMemory memory(size, scratch);
  pack_transposed(size.n, size.d, head.key, head.stride, memory.keys);
  pack_transposed(size.n, size.d, head.value, head.stride, memory.values);
  pack_row_pairs(size.n, size.d, head.key, head.stride, memory.key_rows);
  for (int64_t first = 0; first < size.n; first += kBackwardBlock) {
    const int64_t rows = std::min(kBackwardBlock, size.n - first);
    const uint16_t* query = head.query + first * head.stride;
    const uint16_t* d_out = gradients.d_context + first * gradients.d_context_stride;
    for (int64_t row = 0; row < rows; row += kScored) {
      const int64_t some = std::min(kScored, rows - row);
      find_scores(head, size, factors, first + row, some, memory.keys, memory.scores, memory.kept);
      product<float>(some, size.keys, size.d / 2,
                     {reinterpret_cast<const Pair*>(d_out + row * gradients.d_context_stride),
                      gradients.d_context_stride / 2, 1},
                     size.transposed(memory.values), {memory.d_probabilities, size.row});
      float deltas[kScored + 1] = {};
      for (int64_t i = 0; i < some; ++i) {
        const float offset = factors.log2_kept -
                             kLog2E * head.log_sum_exp[(first + row + i) * head.log_sum_exp_stride];
        deltas[i] =
            probabilities_of_row(size.n, factors.scores, offset, memory.scores + i * size.row,
                                 factors.drops ? memory.kept + i * size.row / kColumns : nullptr,
                                 memory.d_probabilities + i * size.row);
      }
      for (int64_t i = 0; i < some; i += 2) {
        const int64_t pair = (row + i) / 2;
        softmax_backward_pair(
            head, factors, first + row + i, size, memory.kept + i * size.row / kColumns, deltas + i,
            memory.scores + i * size.row, memory.d_probabilities + i * size.row,
            memory.probabilities + pair * kKeyGroup, memory.d_scores + pair * kKeyGroup,
            memory.d_score_rows + (row + i) * size.row);
      }
    }
    product<uint16_t>(rows, size.d, size.key_pairs,
                      {reinterpret_cast<const Pair*>(memory.d_score_rows), size.row / 2, 1},
                      size.rows(memory.key_rows),
                      {gradients.d_query + first * gradients.d_stride, gradients.d_stride});
    // Sums over queries: the blocks accumulate, and the last one rounds the sums.
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

const AttentionKernels<uint16_t>& bf16_attention() {
  static constexpr AttentionKernels<uint16_t> kernels = {
      .forward_scratch =
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
