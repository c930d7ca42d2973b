// Token, position and segment embeddings, normalized (Devlin et al. 2018, figure 2).
#include <vector>

#include "device/plain/layer_norm.h"
#include "device/reference/arguments.h"
#include "device/reference/float8.h"
#include "device/reference/operations.h"

namespace strata::device::reference {
namespace {

constexpr int64_t kSegments = 2;

template <typename Op>
void check_ids(const Arguments& arguments, const Op& op, int64_t tokens, int64_t vocabulary,
               int64_t positions) {
  arguments.indices("token_ids", op.token_ids, tokens, vocabulary);
  arguments.indices("segment_ids", op.segment_ids, tokens, kSegments);
  arguments.indices("positions", op.positions, tokens, positions);
}

}  // namespace

void embeddings_forward(const EmbeddingsForward& op) {
  const Arguments arguments("embeddings_forward");
  const int64_t tokens = op.y.rows, hidden = op.y.cols;
  const ConstMatrix word = arguments.matrix("word", op.word, op.word.rows, hidden);
  const ConstMatrix position = arguments.matrix("position", op.position, op.position.rows, hidden);
  const ConstMatrix segment = arguments.matrix("segment", op.segment, kSegments, hidden);
  const ConstMatrix gamma = arguments.vector("gamma", op.gamma, hidden);
  const ConstMatrix beta = arguments.vector("beta", op.beta, hidden);
  Matrix normalized, inverse_stddev;
  if (op.normalized) normalized = arguments.matrix("normalized", op.normalized, tokens, hidden);
  if (op.inverse_stddev) {
    inverse_stddev = arguments.vector("inverse_stddev", op.inverse_stddev, tokens);
  }
  const CopiedOutput output(arguments, "y", op.y, op.y_float8, tokens, hidden, DType::kE4M3);
  const Matrix& y = output.matrix();
  check_ids(arguments, op, tokens, word.rows, position.rows);
  plain::TokenDropout dropout = arguments.dropout(op.dropout, op.sequences, tokens);

  std::vector<double> row(hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      row[h] =
          word(op.token_ids[t], h) + position(op.positions[t], h) + segment(op.segment_ids[t], h);
    }
    const double inverse = op.normalize ? plain::normalize(row.data(), hidden, op.epsilon) : 1;
    if (op.inverse_stddev) inverse_stddev[t] = inverse;
    for (int64_t h = 0; h < hidden; ++h) {
      if (op.normalized) normalized(t, h) = row[h];
      y(t, h) = dropout.factor(h) * (gamma[h] * row[h] + beta[h]);
    }
  }
  output.copy();
}

void embeddings_backward(const EmbeddingsBackward& op) {
  const Arguments arguments("embeddings_backward");
  const int64_t tokens = op.dy.rows, hidden = op.dy.cols;
  const ConstMatrix dy = arguments.matrix("dy", op.dy, tokens, hidden);
  const ConstMatrix normalized = arguments.matrix("normalized", op.normalized, tokens, hidden);
  ConstMatrix inverse_stddev;
  if (op.normalize) {
    inverse_stddev = arguments.vector("inverse_stddev", op.inverse_stddev, tokens);
  }
  arguments.standardization(op.standardization, tokens, hidden);
  const ConstMatrix gamma = arguments.vector("gamma", op.gamma, hidden);
  const Matrix d_word = arguments.matrix("d_word", op.d_word, op.d_word.rows, hidden);
  const Matrix d_position =
      arguments.matrix("d_position", op.d_position, op.d_position.rows, hidden);
  const Matrix d_segment = arguments.matrix("d_segment", op.d_segment, kSegments, hidden);
  const Matrix d_gamma = arguments.vector("d_gamma", op.d_gamma, hidden);
  const Matrix d_beta = arguments.vector("d_beta", op.d_beta, hidden);
  if (!op.accumulate) clear(d_gamma), clear(d_beta);
  check_ids(arguments, op, tokens, d_word.rows, d_position.rows);
  plain::TokenDropout dropout = arguments.dropout(op.dropout, op.sequences, tokens);

  std::vector<double> d_sum(hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      const double d_kept = dropout.factor(h) * dy(t, h);
      d_sum[h] = gamma[h] * d_kept;
      d_gamma[h] += normalized(t, h) * d_kept;
      d_beta[h] += d_kept;
    }
    if (op.normalize) {
      plain::normalize_backward(d_sum.data(), normalized.row(t), inverse_stddev[t], hidden);
    }
    plain::add_standardization_gradient(op.standardization, t, normalized.row(t), d_sum.data(),
                                        hidden);
    for (int64_t h = 0; h < hidden; ++h) {
      d_word(op.token_ids[t], h) += d_sum[h];
      d_position(op.positions[t], h) += d_sum[h];
      d_segment(op.segment_ids[t], h) += d_sum[h];
    }
  }
}

}  // namespace strata::device::reference
