#include <gtest/gtest.h>

#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

constexpr int64_t kHeads = 2, kHeadSize = 3, kHidden = kHeads * kHeadSize;

struct Attention {
  explicit Attention(std::vector<int32_t> lengths, Dropout dropout_ = kSomeDropout)
      : sequences(lengths), dropout(dropout_), tokens(sequences.view().tokens) {}

  void forward() {
    attention_forward({.qkv = matrix(qkv, tokens),
                       .sequences = sequences.view(),
                       .heads = kHeads,
                       .dropout = dropout,
                       .context = matrix(context, tokens),
                       .log_sum_exp = matrix(log_sum_exp, tokens)});
  }

  PackedSequences sequences;
  Dropout dropout;
  int64_t tokens;
  Values qkv = random_values(tokens * 3 * kHidden, 1);
  Values context = Values(tokens * kHidden), log_sum_exp = Values(tokens * kHeads);
};

TEST(Attention, BackwardIsTheDerivativeOfForward) {
  Attention attention({1, 3, 5});
  for (double& value : attention.qkv) value *= 2;
  Values d_context = random_values(attention.context.size(), 2), d_qkv(attention.qkv.size(), 9.0);
  attention.forward();
  attention_backward(
      {matrix(attention.qkv, attention.tokens), matrix(attention.context, attention.tokens),
       matrix(d_context, attention.tokens), matrix(attention.log_sum_exp, attention.tokens),
       attention.sequences.view(), kHeads, attention.dropout, matrix(d_qkv, attention.tokens)});
  expect_gradient("d_qkv", d_qkv, numeric_gradient(attention.qkv, [&] {
                    attention.forward();
                    return dot(d_context, attention.context);
                  }));
}

// If all queries are zero, every key has the same weight, and only dropout matters.
TEST(Attention, EqualScoresAverageTheValuesThatDropoutKeeps) {
  constexpr int64_t kLength = 4;
  Attention attention({2, kLength});
  const auto at = [&](int64_t token, int64_t part, int64_t head, int64_t d) -> double& {
    return attention.qkv[token * 3 * kHidden + part * kHidden + head * kHeadSize + d];
  };
  for (int64_t t = 0; t < attention.tokens; ++t) {
    for (int64_t h = 0; h < kHidden; ++h) at(t, 0, 0, h) = 0;
  }
  attention.forward();
  for (int64_t head = 0; head < kHeads; ++head) {
    for (int64_t i = 0; i < kLength; ++i) {
      EXPECT_NEAR(attention.log_sum_exp[(2 + i) * kHeads + head], std::log(4.0), 1e-15);
      for (int64_t d = 0; d < kHeadSize; ++d) {
        double expected = 0;
        for (int64_t j = 0; j < kLength; ++j) {
          expected += dropout_factor(attention.dropout, 101, head * 65536 + i, j) / kLength *
                      at(2 + j, 2, head, d);
        }
        EXPECT_NEAR(attention.context[(2 + i) * kHidden + head * kHeadSize + d], expected, 1e-15);
      }
    }
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Attention attention({3}, Dropout{});
  for (double& value : attention.qkv) value *= 1000;
  attention.forward();
  for (const double value : attention.context) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace strata::device::reference
