#include <gtest/gtest.h>

#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

constexpr int64_t kVocabulary = 5, kPositions = 4, kEmbeddedHidden = 6, kTokens = 7;

struct Embeddings {
  double loss() {
    embeddings_forward({.token_ids = tokens.data(),
                        .segment_ids = segments.data(),
                        .positions = positions.data(),
                        .sequences = sequences.view(),
                        .word = matrix(word, kVocabulary),
                        .position = matrix(position, kPositions),
                        .segment = matrix(segment, 2),
                        .gamma = vector(gamma),
                        .beta = vector(beta),
                        .epsilon = 1e-3f,
                        .dropout = kSomeDropout,
                        .normalized = matrix(normalized, kTokens),
                        .inverse_stddev = vector(inverse_stddev),
                        .y = matrix(y, kTokens)});
    return dot(dy, y);
  }

  PackedSequences sequences{{1, 4, 2}};
  std::vector<int32_t> tokens = {3, 0, 3, 4, 1, 1, 0};  // 2 never appears
  std::vector<int32_t> segments = {0, 0, 0, 1, 1, 0, 1};
  std::vector<int32_t> positions = {0, 0, 1, 2, 3, 0, 1};
  Values word = random_values(kVocabulary * kEmbeddedHidden, 1);
  Values position = random_values(kPositions * kEmbeddedHidden, 2),
         segment = random_values(2 * kEmbeddedHidden, 3);
  Values gamma = random_values(kEmbeddedHidden, 4), beta = random_values(kEmbeddedHidden, 5);
  Values dy = random_values(kTokens * kEmbeddedHidden, 6), y = Values(kTokens * kEmbeddedHidden);
  Values normalized = y, inverse_stddev = Values(kTokens);
};

TEST(Embeddings, BackwardAddsTheDerivativeOfForward) {
  Embeddings layer;
  layer.loss();
  Values d_word(layer.word.size(), 1.0), d_position(layer.position.size(), 2.0);
  Values d_segment(2 * kEmbeddedHidden, 3.0), d_gamma(kEmbeddedHidden, 4.0),
      d_beta(kEmbeddedHidden, 5.0);
  embeddings_backward({.token_ids = layer.tokens.data(),
                       .segment_ids = layer.segments.data(),
                       .positions = layer.positions.data(),
                       .sequences = layer.sequences.view(),
                       .dy = matrix(layer.dy, kTokens),
                       .normalized = matrix(layer.normalized, kTokens),
                       .inverse_stddev = vector(layer.inverse_stddev),
                       .gamma = vector(layer.gamma),
                       .dropout = kSomeDropout,
                       .d_word = matrix(d_word, kVocabulary),
                       .d_position = matrix(d_position, kPositions),
                       .d_segment = matrix(d_segment, 2),
                       .accumulate = true,
                       .d_gamma = vector(d_gamma),
                       .d_beta = vector(d_beta)});
  const auto check = [&](const char* name, Values gradient, double before, Values& variable) {
    for (double& value : gradient) value -= before;
    expect_gradient(name, gradient, numeric_gradient(variable, [&] { return layer.loss(); }));
  };
  check("d_word", d_word, 1, layer.word);
  check("d_position", d_position, 2, layer.position);
  check("d_segment", d_segment, 3, layer.segment);
  check("d_gamma", d_gamma, 4, layer.gamma);
  check("d_beta", d_beta, 5, layer.beta);
}

TEST(Embeddings, DropoutActsOnTheOutputByPositionInTheSample) {
  Embeddings layer;
  layer.loss();
  const Values dropped = layer.y;
  embeddings_forward({.token_ids = layer.tokens.data(),
                      .segment_ids = layer.segments.data(),
                      .positions = layer.positions.data(),
                      .word = matrix(layer.word, kVocabulary),
                      .position = matrix(layer.position, kPositions),
                      .segment = matrix(layer.segment, 2),
                      .gamma = vector(layer.gamma),
                      .beta = vector(layer.beta),
                      .epsilon = 1e-3f,
                      .y = matrix(layer.y, kTokens)});
  const int32_t* starts = layer.sequences.view().cu_seqlens;
  for (int32_t b = 0; b < 3; ++b) {
    for (int32_t t = starts[b]; t < starts[b + 1]; ++t) {
      for (int64_t h = 0; h < kEmbeddedHidden; ++h) {
        EXPECT_EQ(dropped[t * kEmbeddedHidden + h],
                  layer.y[t * kEmbeddedHidden + h] *
                      dropout_factor(kSomeDropout, 100 + b, t - starts[b], h));
      }
    }
  }
}

}  // namespace
}  // namespace strata::device::reference
