// Tests for model.norm: none: the standardization loss, and the operations without LayerNorm.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

constexpr float kScale = 0.25f;
constexpr int64_t kVocabulary = 50, kPositions = 512;

struct Case {
  Packed batch;
  int64_t hidden;
  StandardizationAxis axis;
  int32_t rows;  // rows that count
  Dropout dropout;

  int64_t tokens() const { return batch.tokens(); }
  int64_t statistics() const { return axis == StandardizationAxis::kUnit ? hidden : tokens(); }
};

class Standardization : public ConformanceOf<Operation::kStandardizationLoss> {
 protected:
  void for_every_case(const std::function<void(const Case&)>& check) {
    for (const Packed& batch : packed_batches()) {
      for (const int64_t hidden : {64, 128, 384, 512, 1024}) {
        if (hidden > 384 && batch.max_length == 512) continue;  // the reference is slow
        if (few_shapes() && hidden > 128 && hidden < 1024) continue;
        const auto tokens = static_cast<int32_t>(batch.tokens());
        for (const auto axis : {StandardizationAxis::kUnit, StandardizationAxis::kToken}) {
          for (const int32_t rows : {tokens, tokens - tokens / 3, 0}) {
            SCOPED_TRACE(fmt::format("{}, H {}, of {}, {} rows", batch.description(), hidden,
                                     axis == StandardizationAxis::kUnit ? "units" : "tokens",
                                     rows));
            const Dropout dropout{rows == tokens ? 0.1f : 0.0f, dropout_step_key(1, 2),
                                  dropout_place(3, DropoutSite::kOutput)};
            check({batch, hidden, axis, rows, dropout});
          }
        }
      }
    }
  }

  // Returns values in (center - 2, center + 2), except for the first unit, which is constant.
  HostMatrix values(const Case& c, uint64_t seed, double center = 0.5) {
    HostMatrix x = Inputs(backend(), seed).compute(c.tokens(), c.hidden, 2, center);
    for (int64_t t = 0; t < c.tokens(); ++t) x.values[t * c.hidden] = 0.75;
    return x;
  }
  HostMatrix statistics(const Case& c, uint64_t seed) {
    return Inputs(backend(), seed).master(1, c.statistics());
  }
  static OperationCall loss(const Case& c, const HostMatrix& x) {
    return [=](Bench& bench) {
      StandardizationLoss op;
      op.x = bench.compute(x);
      op.rows = bench.in_memory(c.rows);
      op.axis = c.axis;
      op.gradient_scale = bench.in_memory(kScale);
      op.mean = bench.master_output("mean", 1, c.statistics());
      op.slope = bench.master_output("slope", 1, c.statistics());
      op.totals = bench.totals_inout({3.5, 2, 40});
      bench.backend().standardization_loss(Stream::kCompute, op);
    };
  }
  static StandardizationGradient gradient(Bench& bench, const Case& c, const HostMatrix& mean,
                                          const HostMatrix& slope) {
    return {c.axis, bench.master(mean), bench.master(slope), bench.in_memory(kScale),
            bench.in_memory(c.rows)};
  }
};

TEST_P(Standardization, Loss) {
  for_every_case([&](const Case& c) { expect_conforms(backend(), loss(c, values(c, 1))); });
}

// Ranks with different numbers of threads must keep equal weights.
TEST_P(Standardization, LossIsTheSameWhateverTheNumberOfThreads) {
  for (const auto axis : {StandardizationAxis::kUnit, StandardizationAxis::kToken}) {
    const Case c{Packed({400, 130, 171}), 128, axis, 700, {}};
    const HostMatrix x = values(c, 1);
    const auto with_threads = [&](int threads) {
      BackendOptions options = GetParam();
      options.threads = threads;
      return run_on(*make_tested_backend(options), loss(c, x));
    };
    const auto one = with_threads(1);
    for (const int threads : {2, 3, 5}) {
      const auto several = with_threads(threads);
      for (size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(one[i].bytes == several[i].bytes) << one[i].name << ", " << threads;
      }
    }
  }
}

TEST_P(Standardization, ForwardWithoutLayerNorm) {
  for_every_case([&](const Case& c) {
    Inputs inputs(backend(), 2);
    const HostMatrix x = values(c, 1), residual = inputs.compute(c.tokens(), c.hidden);
    const HostMatrix gamma = inputs.compute(1, c.hidden), beta = inputs.compute(1, c.hidden);
    for (const bool keep : {false, true}) {
      SCOPED_TRACE(keep ? "the sum kept" : "the sum not kept");
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualLayerNormForward op;
        op.x = bench.compute(x);
        if (c.rows > 0) op.residual = bench.compute(residual);
        op.gamma = bench.compute(gamma);
        op.beta = bench.compute(beta);
        op.normalize = false;
        op.dropout = bench.in_memory(c.dropout);
        if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
        if (keep) op.normalized = bench.compute_output("normalized", c.tokens(), c.hidden);
        op.y = bench.compute_output("y", c.tokens(), c.hidden);
        bench.backend().residual_layernorm_forward(Stream::kCompute, op);
      });
    }
  });
}

TEST_P(Standardization, BackwardWithoutLayerNorm) {
  for_every_case([&](const Case& c) {
    Inputs inputs(backend(), 2);
    const HostMatrix sum = values(c, 1), dy = inputs.compute(c.tokens(), c.hidden);
    const HostMatrix gamma = inputs.compute(1, c.hidden);
    const HostMatrix d_gamma = inputs.master(1, c.hidden), d_beta = inputs.master(1, c.hidden);
    const HostMatrix mean = statistics(c, 3), slope = statistics(c, 4);
    for (const bool loss : {false, true}) {
      SCOPED_TRACE(loss ? "with the loss" : "without a loss");
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualLayerNormBackward op;
        op.dy = bench.compute(dy);
        op.normalized = bench.compute(sum);
        op.gamma = bench.compute(gamma);
        op.normalize = false;
        if (loss) op.standardization = gradient(bench, c, mean, slope);
        op.dropout = bench.in_memory(c.dropout);
        if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
        op.d_x = bench.compute_output("d_x", c.tokens(), c.hidden);
        if (c.rows > 0) op.d_residual = bench.compute_output("d_residual", c.tokens(), c.hidden);
        op.accumulate = loss;
        op.d_gamma = bench.gradient("d_gamma", d_gamma, loss);
        op.d_beta = bench.gradient("d_beta", d_beta, loss);
        bench.backend().residual_layernorm_backward(Stream::kCompute, op);
      });
    }
  });
}

TEST_P(Standardization, EmbeddingsWithoutLayerNorm) {
  for_every_case([&](const Case& c) {
    if (c.hidden == 384 || c.hidden == 512) return;
    Inputs inputs(backend(), 2);
    const std::vector<int32_t> tokens = inputs.indices(c.tokens(), kVocabulary),
                               segments = inputs.indices(c.tokens(), 2);
    const HostMatrix word = inputs.compute(kVocabulary, c.hidden);
    const HostMatrix position = inputs.compute(kPositions, c.hidden);
    const HostMatrix segment = inputs.compute(2, c.hidden);
    const HostMatrix gamma = inputs.compute(1, c.hidden), beta = inputs.compute(1, c.hidden);
    expect_conforms(backend(), [&](Bench& bench) {
      EmbeddingsForward op;
      op.token_ids = bench.indices(tokens);
      op.segment_ids = bench.indices(segments);
      op.positions = bench.indices(c.batch.positions);
      op.sequences = bench.sequences(c.batch);
      op.word = bench.compute(word);
      op.position = bench.compute(position);
      op.segment = bench.compute(segment);
      op.gamma = bench.compute(gamma);
      op.beta = bench.compute(beta);
      op.normalize = false;
      op.dropout = bench.in_memory(c.dropout);
      if (c.rows > 0) op.normalized = bench.compute_output("normalized", c.tokens(), c.hidden);
      op.y = bench.compute_output("y", c.tokens(), c.hidden);
      bench.backend().embeddings_forward(Stream::kCompute, op);
    });
    const HostMatrix sum = values(c, 1), dy = inputs.compute(c.tokens(), c.hidden);
    const HostMatrix mean = statistics(c, 3), slope = statistics(c, 4);
    const HostMatrix d_word = inputs.master(kVocabulary, c.hidden);
    const HostMatrix d_position = inputs.master(kPositions, c.hidden);
    const HostMatrix d_segment = inputs.master(2, c.hidden), d_vector = inputs.master(1, c.hidden);
    expect_conforms(backend(), [&](Bench& bench) {
      EmbeddingsBackward op;
      op.token_ids = bench.indices(tokens);
      op.segment_ids = bench.indices(segments);
      op.positions = bench.indices(c.batch.positions);
      op.sequences = bench.sequences(c.batch);
      op.dy = bench.compute(dy);
      op.normalized = bench.compute(sum);
      op.gamma = bench.compute(gamma);
      op.normalize = false;
      op.standardization = gradient(bench, c, mean, slope);
      op.dropout = bench.in_memory(c.dropout);
      op.d_word = bench.master_inout("d_word", d_word);
      op.d_position = bench.master_inout("d_position", d_position);
      op.d_segment = bench.master_inout("d_segment", d_segment);
      op.d_gamma = bench.gradient("d_gamma", d_vector, false);
      op.d_beta = bench.gradient("d_beta", d_vector, false);
      bench.backend().embeddings_backward(Stream::kCompute, op);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Standardization, testing::ValuesIn(tested_backends()),
                         name_of_backend);

}  // namespace
}  // namespace strata::device
