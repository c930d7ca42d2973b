// The heads of self-attention within the sequences of a packed batch (Vaswani et al. 2017, section
// 3.2.1).
#pragma once

#include <cmath>
#include <cstdint>

#include "device/operations/operations.h"

namespace strata::device::plain {

// One head of one sequence. Rows are counted from the sequence's first token.
struct Head {
  int64_t first_token, length, index;
  int64_t hidden;  // H
  int64_t units;   // H / heads
  uint64_t sample_id;
  const Dropout& dropout;

  // Returns the first element of this head in a row of qkv [T, 3H]; part 0: query, 1: key, 2:
  // value.
  int64_t in_qkv(int64_t row, int64_t part) const {
    return (first_token + row) * 3 * hidden + part * hidden + index * units;
  }
  // Returns the first element of this head in a row of context [T, H].
  int64_t in_context(int64_t row) const { return (first_token + row) * hidden + index * units; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(units)); }
  float dropout_at(int64_t query, int64_t key) const {
    return dropout_factor(dropout, sample_id, static_cast<uint32_t>(index * 65536 + query),
                          static_cast<uint32_t>(key));
  }
};

// Calls function(head) for every head of an AttentionForward or AttentionBackward.
template <typename Op, typename Function>
void for_each_head(const Op& op, const Function& function) {
  const Sequences& s = op.sequences;
  const int64_t hidden = op.qkv.cols / 3;
  for (int32_t b = 0; b < s.count; ++b) {
    for (int32_t h = 0; h < op.heads; ++h) {
      function(Head{s.cu_seqlens[b], s.cu_seqlens[b + 1] - s.cu_seqlens[b], h, hidden,
                    hidden / op.heads, s.sample_ids[b], op.dropout});
    }
  }
}

template <typename T>
T dot(const T* a, const T* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return static_cast<T>(sum);
}

template <typename T>
void add_scaled(T* to, T factor, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

}  // namespace strata::device::plain
