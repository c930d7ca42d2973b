#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct Case {
  Packed batch;
  int64_t hidden;
  bool residual;
  Dropout dropout;

  int64_t tokens() const { return batch.tokens(); }
};

struct Values {
  Values(const Backend& backend, const Case& c)
      : inputs(backend, 1),
        x(inputs.compute(c.tokens(), c.hidden, 2)),
        residual(inputs.compute(c.tokens(), c.hidden, 1, 0.5)),
        gamma(inputs.compute(1, c.hidden, 0.5, 1)),
        beta(inputs.compute(1, c.hidden, 0.5)),
        dy(inputs.compute(c.tokens(), c.hidden)),
        d_gamma(inputs.master(1, c.hidden, 10)),
        d_beta(inputs.master(1, c.hidden, 10)) {}
  Inputs inputs;
  HostMatrix x, residual, gamma, beta, dy, d_gamma, d_beta;
};

OperationCall forward(const Case& c, const Values& values, bool keep) {
  return [=](Bench& bench) {
    ResidualLayerNormForward op;
    op.x = bench.compute(values.x);
    if (c.residual) op.residual = bench.compute(values.residual);
    op.gamma = bench.compute(values.gamma);
    op.beta = bench.compute(values.beta);
    op.dropout = bench.in_memory(c.dropout);
    if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
    if (keep) {
      op.normalized = bench.compute_output("normalized", c.tokens(), c.hidden);
      op.inverse_stddev = bench.master_output("inverse_stddev", 1, c.tokens());
    }
    op.y = bench.compute_output("y", c.tokens(), c.hidden);
    bench.backend().residual_layernorm_forward(Stream::kCompute, op);
  };
}

// The values that forward keeps for backward, rounded to the backend's dtypes.
struct Saved {
  Saved(const Backend& backend, const Case& c, const Values& values) {
    auto saved = run_on_reference(forward(c, values, true));
    normalized = rounded(saved["normalized"], backend.compute_dtype());
    inverse_stddev = rounded(saved["inverse_stddev"], backend.master_dtype());
  }
  HostMatrix normalized, inverse_stddev;
};

// Runs backward to d_x, without the gradients of the parameters and of the residual.
ResidualLayerNormBackward backward(Bench& bench, const Case& c, const Values& values,
                                   const Saved& saved) {
  ResidualLayerNormBackward op;
  op.dy = bench.compute(values.dy);
  op.normalized = bench.compute(saved.normalized);
  op.inverse_stddev = bench.master(saved.inverse_stddev);
  op.gamma = bench.compute(values.gamma);
  op.dropout = bench.in_memory(c.dropout);
  if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
  op.d_x = bench.compute_output("d_x", c.tokens(), c.hidden);
  return op;
}

class ResidualLayerNorm : public Conformance {
 protected:
  void for_every_case(const std::function<void(const Case&)>& check) {
    for (const Packed& batch : packed_batches()) {
      for (const int64_t hidden : {64, 128, 384, 512, 1024}) {
        if (hidden > 384 && batch.max_length == 512) continue;  // the reference is slow
        if (few_shapes() && hidden > 128 && hidden < 1024) continue;
        for (const bool residual : {false, true}) {
          for (const float probability : {0.0f, 0.1f}) {
            SCOPED_TRACE(fmt::format("{}, H {}, residual {}, dropout {}", batch.description(),
                                     hidden, residual ? "given" : "absent", probability));
            check({batch,
                   hidden,
                   residual,
                   {probability, dropout_step_key(1, 2), dropout_place(3, DropoutSite::kOutput)}});
          }
        }
      }
    }
  }
};

TEST_P(ResidualLayerNorm, Forward) {
  for_every_case([&](const Case& c) {
    for (const bool keep : {false, true}) {
      SCOPED_TRACE(keep ? "statistics kept" : "statistics absent");
      expect_conforms(backend(), forward(c, Values(backend(), c), keep));
    }
  });
}

TEST_P(ResidualLayerNorm, Backward) {
  for_every_case([&](const Case& c) {
    const Values values(backend(), c);
    const Saved saved(backend(), c, values);
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(accumulate ? "added" : "written");
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualLayerNormBackward op = backward(bench, c, values, saved);
        if (c.residual) op.d_residual = bench.compute_output("d_residual", c.tokens(), c.hidden);
        op.accumulate = accumulate;
        op.d_gamma = bench.gradient("d_gamma", values.d_gamma, accumulate);
        op.d_beta = bench.gradient("d_beta", values.d_beta, accumulate);
        bench.backend().residual_layernorm_backward(Stream::kCompute, op);
      });
    }
  });
}

TEST_P(ResidualLayerNorm, BackwardMayAddUpTheColumnsOfTheSublayersGradient) {
  for_every_case([&](const Case& c) {
    if (IsSkipped()) return;
    const Values values(backend(), c);
    const Saved saved(backend(), c, values);
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(accumulate ? "added" : "written");
      bool done = false;
      const auto with_sums = [&](Bench& bench) {
        ResidualLayerNormBackward op = backward(bench, c, values, saved);
        op.d_x_sums = {bench.gradient("d_x_sums", values.d_beta, accumulate), accumulate, &done};
        op.accumulate = !accumulate;
        op.d_gamma = bench.gradient("d_gamma", values.d_gamma, !accumulate);
        op.d_beta = bench.gradient("d_beta", values.d_beta, !accumulate);
        bench.backend().residual_layernorm_backward(Stream::kCompute, op);
      };
      run_on(backend(), with_sums);
      if (!done) GTEST_SKIP() << "this backend leaves it to linear_weight_gradient";
      expect_conforms(backend(), with_sums);
    }
  });
}

// Additions of pre-LN: the kept sum, another part of its gradient, the scaled sublayer.
class PreNorm : public ConformanceOf<Operation::kResidualAddForward, ResidualLayerNorm> {};

constexpr float kScale = 1.25f;

TEST_P(PreNorm, ForwardKeepsTheSum) {
  for_every_case([&](const Case& c) {
    const Values values(backend(), c);
    for (const bool in_place : {false, true}) {
      if (in_place && !c.residual) continue;
      SCOPED_TRACE(in_place ? "in the residual's place" : "in a place of its own");
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualLayerNormForward op;
        op.x = bench.compute(values.x);
        op.sum = in_place ? bench.compute_inout("sum", values.residual)
                          : bench.compute_output("sum", c.tokens(), c.hidden);
        if (c.residual) op.residual = in_place ? op.sum : bench.compute(values.residual);
        op.scale = kScale;
        op.gamma = bench.compute(values.gamma);
        op.beta = bench.compute(values.beta);
        op.dropout = bench.in_memory(c.dropout);
        if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
        op.y = bench.compute_output("y", c.tokens(), c.hidden);
        bench.backend().residual_layernorm_forward(Stream::kCompute, op);
      });
    }
  });
}

TEST_P(PreNorm, BackwardAddsTheOtherGradientOfTheSum) {
  for_every_case([&](const Case& c) {
    const Values values(backend(), c);
    const Saved saved(backend(), c, values);
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(in_place ? "in its place" : "in places of their own");
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualLayerNormBackward op;
        op.dy = bench.compute(values.dy);
        // The residual's gradient, or else the sublayer's, overwrites this memory.
        const Tensor d_sum = bench.compute_inout("d_sum", values.residual);
        op.d_sum = d_sum;
        op.normalized = bench.compute(saved.normalized);
        op.inverse_stddev = bench.master(saved.inverse_stddev);
        op.gamma = bench.compute(values.gamma);
        op.scale = kScale;
        op.dropout = bench.in_memory(c.dropout);
        if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
        op.d_x =
            in_place && !c.residual ? d_sum : bench.compute_output("d_x", c.tokens(), c.hidden);
        if (c.residual) {
          op.d_residual =
              in_place ? d_sum : bench.compute_output("d_residual", c.tokens(), c.hidden);
        }
        op.d_gamma = bench.gradient("d_gamma", values.d_gamma, false);
        op.d_beta = bench.gradient("d_beta", values.d_beta, false);
        bench.backend().residual_layernorm_backward(Stream::kCompute, op);
      });
    }
  });
}

TEST_P(PreNorm, ResidualAdd) {
  for_every_case([&](const Case& c) {
    const Values values(backend(), c);
    for (const float scale : {1.0f, kScale}) {
      SCOPED_TRACE(scale);
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualAddForward op;
        op.x = bench.compute(values.x);
        op.residual = bench.compute(values.residual);
        op.scale = scale;
        op.dropout = bench.in_memory(c.dropout);
        if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
        op.y = bench.compute_output("y", c.tokens(), c.hidden);
        bench.backend().residual_add_forward(Stream::kCompute, op);
      });
      expect_conforms(backend(), [&](Bench& bench) {
        ResidualAddBackward op;
        op.dy = bench.compute(values.dy);
        op.scale = scale;
        op.dropout = bench.in_memory(c.dropout);
        if (c.dropout.probability > 0) op.sequences = bench.sequences(c.batch);
        op.d_x = bench.compute_output("d_x", c.tokens(), c.hidden);
        bench.backend().residual_add_backward(Stream::kCompute, op);
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ResidualLayerNorm, testing::ValuesIn(tested_backends()),
                         name_of_backend);
INSTANTIATE_TEST_SUITE_P(Backends, PreNorm, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
