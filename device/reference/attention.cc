// Self-attention inside the sequences of a packed batch (Vaswani et al. 2017, section 3.2.1).
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/reference/arguments.h"
#include "device/reference/float8.h"
#include "device/reference/operations.h"
#include "device/reference/softmax.h"

namespace strata::device::reference {
namespace {

// One head of one sequence; positions are counted from the sequence's first token.
struct Head {
  ConstMatrix qkv;
  int64_t first_token;
  int64_t length;
  int64_t index;
  int64_t hidden;
  int64_t size;
  uint64_t sample_id;
  Dropout dropout;

  int64_t row(int64_t position) const { return first_token + position; }
  int64_t context_column(int64_t d) const { return index * size + d; }
  int64_t query_column(int64_t d) const { return context_column(d); }
  int64_t key_column(int64_t d) const { return hidden + context_column(d); }
  int64_t value_column(int64_t d) const { return 2 * hidden + context_column(d); }

  double query(int64_t i, int64_t d) const { return qkv(row(i), query_column(d)); }
  double key(int64_t j, int64_t d) const { return qkv(row(j), key_column(d)); }
  double value(int64_t j, int64_t d) const { return qkv(row(j), value_column(d)); }
  double scale() const { return 1 / std::sqrt(static_cast<double>(size)); }

  double score(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t d = 0; d < size; ++d) sum += query(i, d) * key(j, d);
    return sum * scale();
  }

  double dropout_at(int64_t i, int64_t j) const {
    return dropout_factor(dropout, sample_id, static_cast<uint32_t>(index * 65536 + i),
                          static_cast<uint32_t>(j));
  }
};

void head_forward(const Head& head, const Matrix& context, const Matrix& log_sum_exp) {
  std::vector<double> scores(head.length);
  for (int64_t i = 0; i < head.length; ++i) {
    for (int64_t j = 0; j < head.length; ++j) scores[j] = head.score(i, j);
    const double normalizer = reference::log_sum_exp(scores);
    log_sum_exp(head.row(i), head.index) = normalizer;
    for (int64_t d = 0; d < head.size; ++d) context(head.row(i), head.context_column(d)) = 0;
    for (int64_t j = 0; j < head.length; ++j) {
      const double weight = std::exp(scores[j] - normalizer) * head.dropout_at(i, j);
      for (int64_t d = 0; d < head.size; ++d) {
        context(head.row(i), head.context_column(d)) += weight * head.value(j, d);
      }
    }
  }
}

// Adds to d_qkv, which the caller has cleared.
void head_backward(const Head& head, const ConstMatrix& d_context, const ConstMatrix& log_sum_exp,
                   const Matrix& d_qkv) {
  std::vector<double> probability(head.length), d_probability(head.length);
  for (int64_t i = 0; i < head.length; ++i) {
    const auto d_out = [&](int64_t d) { return d_context(head.row(i), head.context_column(d)); };
    double mean_gradient = 0;
    for (int64_t j = 0; j < head.length; ++j) {
      const double factor = head.dropout_at(i, j);
      probability[j] = std::exp(head.score(i, j) - log_sum_exp(head.row(i), head.index));
      d_probability[j] = 0;
      for (int64_t d = 0; d < head.size; ++d) {
        d_probability[j] += factor * d_out(d) * head.value(j, d);
        d_qkv(head.row(j), head.value_column(d)) += probability[j] * factor * d_out(d);
      }
      mean_gradient += probability[j] * d_probability[j];
    }
    for (int64_t j = 0; j < head.length; ++j) {
      const double d_score = probability[j] * (d_probability[j] - mean_gradient) * head.scale();
      for (int64_t d = 0; d < head.size; ++d) {
        d_qkv(head.row(i), head.query_column(d)) += d_score * head.key(j, d);
        d_qkv(head.row(j), head.key_column(d)) += d_score * head.query(i, d);
      }
    }
  }
}

template <typename Op, typename Function>
void for_each_head(const Op& op, const ConstMatrix& qkv, const Function& function) {
  const int64_t hidden = qkv.cols / 3;
  const Sequences& sequences = op.sequences;
  for (int32_t b = 0; b < sequences.count; ++b) {
    for (int64_t h = 0; h < op.heads; ++h) {
      function(Head{qkv, sequences.cu_seqlens[b],
                    sequences.cu_seqlens[b + 1] - sequences.cu_seqlens[b], h, hidden,
                    hidden / op.heads, sequences.sample_ids[b], op.dropout});
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
  for_each_head(op, qkv,
                [&](const Head& head) { head_forward(head, context.matrix(), log_sum_exp); });
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
  for_each_head(op, qkv, [&](const Head& head) {
    head_backward(head, d_context, log_sum_exp, d_qkv.matrix());
  });
  d_qkv.copy();
}

}  // namespace strata::device::reference
