// Self-attention within the sequences of a packed batch (Vaswani et al. 2017, section 3.2.1).
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/plain/heads.h"
#include "device/plain/softmax.h"
#include "device/reference/arguments.h"
#include "device/reference/float8.h"
#include "device/reference/operations.h"

namespace strata::device::reference {
namespace {

using plain::Head;

enum : int64_t { kQuery, kKey, kValue };

double score(const Head& head, const double* qkv, int64_t i, int64_t j) {
  return plain::dot(qkv + head.in_qkv(i, kQuery), qkv + head.in_qkv(j, kKey), head.units) *
         head.scale();
}

// Writes the head's columns of context and log_sum_exp.
void head_forward(const Head& head, const double* qkv, const Matrix& context,
                  const Matrix& log_sum_exp) {
  std::vector<double> scores(head.length);
  for (int64_t i = 0; i < head.length; ++i) {
    for (int64_t j = 0; j < head.length; ++j) scores[j] = score(head, qkv, i, j);
    const double normalizer = plain::log_sum_exp(scores.data(), head.length);
    log_sum_exp(head.first_token + i, head.index) = normalizer;
    double* out = context.data + head.in_context(i);
    std::fill_n(out, head.units, 0.0);
    for (int64_t j = 0; j < head.length; ++j) {
      const double weight = std::exp(scores[j] - normalizer) * head.dropout_at(i, j);
      plain::add_scaled(out, weight, qkv + head.in_qkv(j, kValue), head.units);
    }
  }
}

// Adds to d_qkv, which the caller has cleared.
void head_backward(const Head& head, const double* qkv, const ConstMatrix& d_context,
                   const ConstMatrix& log_sum_exp, double* d_qkv) {
  std::vector<double> probability(head.length), d_probability(head.length);
  for (int64_t i = 0; i < head.length; ++i) {
    const double* d_out = d_context.data + head.in_context(i);
    double mean_gradient = 0;
    for (int64_t j = 0; j < head.length; ++j) {
      const double factor = head.dropout_at(i, j);
      probability[j] =
          std::exp(score(head, qkv, i, j) - log_sum_exp(head.first_token + i, head.index));
      d_probability[j] = factor * plain::dot(d_out, qkv + head.in_qkv(j, kValue), head.units);
      plain::add_scaled(d_qkv + head.in_qkv(j, kValue), probability[j] * factor, d_out, head.units);
      mean_gradient += probability[j] * d_probability[j];
    }
    for (int64_t j = 0; j < head.length; ++j) {
      const double d_score = probability[j] * (d_probability[j] - mean_gradient) * head.scale();
      plain::add_scaled(d_qkv + head.in_qkv(i, kQuery), d_score, qkv + head.in_qkv(j, kKey),
                        head.units);
      plain::add_scaled(d_qkv + head.in_qkv(j, kKey), d_score, qkv + head.in_qkv(i, kQuery),
                        head.units);
    }
  }
}

template <typename Op>
ConstMatrix checked_qkv(const Arguments& arguments, const Op& op) {
  arguments.sequences(op.sequences, op.qkv.rows);
  arguments.require(op.heads > 0 && op.qkv.cols % (3 * int64_t{op.heads}) == 0,
                    "qkv has 3 x heads x head size columns");
  return arguments.matrix("qkv", op.qkv, op.qkv.rows, op.qkv.cols);
}

}  // namespace

void attention_forward(const AttentionForward& op) {
  const Arguments arguments("attention_forward");
  const ConstMatrix qkv = checked_qkv(arguments, op);
  const CopiedOutput context(arguments, "context", op.context, op.context_float8, qkv.rows,
                             qkv.cols / 3, DType::kE4M3);
  const Matrix log_sum_exp = arguments.matrix("log_sum_exp", op.log_sum_exp, qkv.rows, op.heads);
  plain::for_each_head(
      op, [&](const Head& head) { head_forward(head, qkv.data, context.matrix(), log_sum_exp); });
  context.copy();
}

void attention_backward(const AttentionBackward& op) {
  const Arguments arguments("attention_backward");
  const ConstMatrix qkv = checked_qkv(arguments, op);
  const int64_t tokens = qkv.rows, hidden = qkv.cols / 3;
  arguments.matrix("context", op.context, tokens, hidden);
  const ConstMatrix d_context = arguments.matrix("d_context", op.d_context, tokens, hidden);
  const ConstMatrix log_sum_exp = arguments.matrix("log_sum_exp", op.log_sum_exp, tokens, op.heads);
  const CopiedOutput d_qkv(arguments, "d_qkv", op.d_qkv, op.d_qkv_float8, tokens, 3 * hidden,
                           DType::kE5M2);
  std::fill_n(d_qkv.matrix().data, tokens * 3 * hidden, 0.0);
  plain::for_each_head(op, [&](const Head& head) {
    head_backward(head, qkv.data, d_context, log_sum_exp, d_qkv.matrix().data);
  });
  d_qkv.copy();
}

}  // namespace strata::device::reference
