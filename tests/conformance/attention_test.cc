#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct Heads {
  int64_t hidden;
  int32_t heads;
};

constexpr Heads kHeads[] = {{64, 2},  {64, 1}, {128, 4}, {128, 2},
                            {384, 6}, {96, 2}, {128, 1}, {40, 2}};
constexpr float kProbabilities[] = {0.0f, 0.1f, 0.5f};

Dropout dropout_of(float probability) {
  return {probability, dropout_step_key(11, 22), dropout_place(3, DropoutSite::kAttention)};
}

OperationCall forward(const Packed& batch, const Heads& shape, const Dropout& dropout,
                      const HostMatrix& qkv) {
  return [=](Bench& bench) {
    AttentionForward op;
    op.qkv = bench.compute(qkv);
    op.sequences = bench.sequences(batch);
    op.heads = shape.heads;
    op.dropout = bench.in_memory(dropout);
    op.context = bench.compute_output("context", batch.tokens(), shape.hidden);
    op.log_sum_exp = bench.master_output("log_sum_exp", batch.tokens(), shape.heads);
    bench.backend().attention_forward(Stream::kCompute, op);
  };
}

class Attention : public Conformance {
 protected:
  // Returns inputs whose scores have a standard deviation of about 1.
  HostMatrix random_qkv(const Packed& batch, const Heads& shape) {
    return Inputs(backend(), 1).compute(batch.tokens(), 3 * shape.hidden, 1.7);
  }

  void for_every_case(
      const std::function<void(const Packed&, const Heads&, const Dropout&)>& check) {
    for (const Packed& batch : packed_batches()) {
      for (const Heads& shape : kHeads) {
        for (const float probability : kProbabilities) {
          if (few_shapes() && (shape.hidden > 128 || probability == 0.5f)) continue;
          // The reference is slow for the longest sequences.
          if (batch.max_length == 512 && (shape.hidden > 64 || probability == 0.5f)) continue;
          SCOPED_TRACE(fmt::format("{}, H {}, heads {}, dropout {}", batch.description(),
                                   shape.hidden, shape.heads, probability));
          check(batch, shape, dropout_of(probability));
        }
      }
    }
  }
};

TEST_P(Attention, Forward) {
  for_every_case([&](const Packed& batch, const Heads& shape, const Dropout& dropout) {
    expect_conforms(backend(), forward(batch, shape, dropout, random_qkv(batch, shape)));
  });
}

// Runs backward on the results of the reference's forward, rounded to the backend's dtypes.
OperationCall backward(Backend& backend, const Packed& batch, const Heads& shape,
                       const Dropout& dropout, const HostMatrix& qkv, const HostMatrix& d_context) {
  auto saved = run_on_reference(forward(batch, shape, dropout, qkv));
  const HostMatrix context = rounded(saved["context"], backend.compute_dtype());
  const HostMatrix log_sum_exp = rounded(saved["log_sum_exp"], backend.master_dtype());
  return [=](Bench& bench) {
    AttentionBackward op;
    op.qkv = bench.compute(qkv);
    op.context = bench.compute(context);
    op.d_context = bench.compute(d_context);
    op.log_sum_exp = bench.master(log_sum_exp);
    op.sequences = bench.sequences(batch);
    op.heads = shape.heads;
    op.dropout = bench.in_memory(dropout);
    op.d_qkv = bench.compute_output("d_qkv", batch.tokens(), 3 * shape.hidden);
    bench.backend().attention_backward(Stream::kCompute, op);
  };
}

void expect_backward_conforms(Backend& backend, const Packed& batch, const Heads& shape,
                              const Dropout& dropout, const HostMatrix& qkv) {
  const HostMatrix d_context = Inputs(backend, 2).compute(batch.tokens(), shape.hidden);
  expect_conforms(backend, backward(backend, batch, shape, dropout, qkv, d_context));
}

TEST_P(Attention, Backward) {
  for_every_case([&](const Packed& batch, const Heads& shape, const Dropout& dropout) {
    expect_backward_conforms(backend(), batch, shape, dropout, random_qkv(batch, shape));
  });
}

// Small integers and a head size of 64 make every score exact in bf16 and f32. Some scores exceed
// the logarithm of the largest float.
TEST_P(Attention, LargeScoresDoNotOverflow) {
  const Packed batch({40, 3});
  const Heads shape{64, 1};
  HostMatrix qkv = Inputs(backend(), 3).compute(batch.tokens(), 3 * shape.hidden, 12);
  for (double& value : qkv.values) value = std::round(value);
  const auto results = run_on_reference(forward(batch, shape, Dropout{}, qkv));
  const auto& scores = results.at("log_sum_exp").values;
  ASSERT_GT(*std::max_element(scores.begin(), scores.end()), 100);
  expect_conforms(backend(), forward(batch, shape, Dropout{}, qkv));
}

// Every score is about -100, so its exponential is 0 in f32 unless it is relative to the row's
// maximum. Scores are exact in f32 and bf16.
TEST_P(Attention, SmallScoresDoNotVanish) {
  const Packed batch({130, 3});
  const Heads shape{128, 2};
  const int64_t head_size = shape.hidden / shape.heads;
  HostMatrix qkv = random_qkv(batch, shape);
  for (double& value : qkv.values) value = std::round(8 * value) / 8;
  for (int64_t row = 0; row < qkv.rows; ++row) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      // The product, over the root of the head's size, is -98.
      double* query = &qkv.values[static_cast<size_t>(row * qkv.cols + head * head_size)];
      query[0] = 28;
      query[shape.hidden] = -28;
    }
  }
  const auto results = run_on_reference(forward(batch, shape, Dropout{}, qkv));
  const auto& sums = results.at("log_sum_exp").values;
  ASSERT_LT(*std::max_element(sums.begin(), sums.end()), -85);
  for (const float probability : {0.0f, 0.1f}) {
    const Dropout dropout = dropout_of(probability);
    expect_conforms(backend(), forward(batch, shape, dropout, qkv));
    expect_backward_conforms(backend(), batch, shape, dropout, qkv);
  }
}

TEST_P(Attention, ManySequencesOfDifferentLengths) {
  std::vector<int32_t> lengths;
  for (int32_t i = 0; i < 70; ++i) lengths.push_back(1 + i * 7 % 11);
  lengths[40] = 200;
  const Packed batch(lengths);
  const Heads shape{64, 1};
  const HostMatrix qkv = random_qkv(batch, shape);
  expect_conforms(backend(), forward(batch, shape, dropout_of(0.1f), qkv));
  expect_backward_conforms(backend(), batch, shape, dropout_of(0.1f), qkv);
}

HostMatrix side_by_side(const std::vector<HostMatrix>& parts) {
  HostMatrix whole{parts.front().rows, 0, {}};
  for (const HostMatrix& part : parts) whole.cols += part.cols;
  for (int64_t row = 0; row < whole.rows; ++row) {
    for (const HostMatrix& part : parts) {
      const auto begin = part.values.begin() + row * part.cols;
      whole.values.insert(whole.values.end(), begin, begin + part.cols);
    }
  }
  return whole;
}

HostMatrix columns_of(const HostMatrix& matrix, int64_t first, int64_t count) {
  HostMatrix columns{matrix.rows, count, {}};
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const auto begin = matrix.values.begin() + row * matrix.cols + first;
    columns.values.insert(columns.values.end(), begin, begin + count);
  }
  return columns;
}

double largest_of(const HostMatrix& matrix) {
  double largest = 0;
  for (const double value : matrix.values) largest = std::max(largest, std::abs(value));
  return largest;
}

// True if a backend computes the sum over keys of probability times its gradient from the stored
// context, in bf16. The tiled CUDA kernels and cuDNN do; docs/cuda.md gives the reason.
bool sums_rounded_context(const BackendOptions& options) {
  const auto kernel = options.options.find("attention");
  return options.name.ends_with("cuda") && options.compute_dtype == DType::kBF16 &&
         (kernel == options.options.end() || kernel->second != "plain");
}

// Tokens are nearly alike, as in the last layers of a model with random weights. Probabilities are
// then nearly uniform, and gradients of a row's probabilities differ by about 1e-3 of their mean.
// Gradients of queries and keys contain only the differences, so the mean must be much more
// accurate than bf16.
//
// Each part of d_qkv is compared relative to its own largest element. In addition, the mean may
// have the error of f32 sums of d products and of n probabilities, relative to the sum of
// magnitudes m: 2 (d + n) 2^-24 m. A row of d_query then has an error of scale times this times a
// mean of keys. d_key has the same of queries, because columns of nearly uniform probabilities add
// up to less than 2.
TEST_P(Attention, GradientsOfNearlyEqualTokensAreAccurate) {
  for (const Packed& batch : packed_batches()) {
    for (const Heads& shape : kHeads) {
      if (batch.max_length == 512 || (few_shapes() && shape.hidden > 128)) continue;
      SCOPED_TRACE(
          fmt::format("{}, H {}, heads {}", batch.description(), shape.hidden, shape.heads));
      const int64_t tokens = batch.tokens(), hidden = shape.hidden;
      Inputs inputs(backend(), 4);
      const HostMatrix query = inputs.compute(tokens, hidden, 0.05, 0.05),
                       key = inputs.compute(tokens, hidden, 0.4, 0.5),
                       value = inputs.compute(tokens, hidden, 0.02, 1),
                       d_context = inputs.compute(tokens, hidden, 0.02, 1);
      const OperationCall operation = backward(backend(), batch, shape, Dropout{},
                                               side_by_side({query, key, value}), d_context);
      const auto d = static_cast<double>(hidden / shape.heads);
      const double magnitudes = d * largest_of(d_context) * largest_of(value);
      double error = 2 * (d + batch.max_length) * std::ldexp(magnitudes, -24);
      // Rounding to bf16 has an error of up to 2^-9.
      if (sums_rounded_context(GetParam())) error += std::ldexp(magnitudes, -9);
      error /= std::sqrt(d);
      const double absolute[] = {error * largest_of(key), error * 2 * largest_of(query), 0};
      Output actual = run_on(backend(), operation).front();
      const HostMatrix whole = actual.matrix, expected = run_on_reference(operation).at("d_qkv");
      const char* const names[] = {"query gradient", "key gradient", "value gradient"};
      for (int part = 0; part < 3; ++part) {
        actual.name = names[part];
        actual.matrix = columns_of(whole, part * hidden, hidden);
        EXPECT_TRUE(is_near(actual, columns_of(expected, part * hidden, hidden),
                            bound_of(backend().compute_dtype()), absolute[part]));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Attention, testing::ValuesIn(tested_attention()),
                         name_of_backend);

}  // namespace
}  // namespace strata::device
