// FP8 GEMMs, and operations that write their operands.
#include "device/operations/float8.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

using enum DType;

struct Shape {
  int64_t tokens, in, out;
};

// Shapes cover whole tiles of the transposition, parts of tiles, and several tiles.
constexpr Shape kShapes[] = {
    {16, 64, 64}, {48, 128, 96}, {80, 64, 256}, {144, 384, 112}, {272, 144, 128}};

std::string describe(const Shape& shape) {
  return fmt::format("T {}, in {}, out {}", shape.tokens, shape.in, shape.out);
}

// Returns FP8 numbers in (-spread, spread).
HostMatrix numbers(Inputs& inputs, DType dtype, float scale, int64_t rows, int64_t cols,
                   double spread = 1) {
  return rounded(inputs.of(kF32, rows, cols, spread), dtype, scale);
}

// `seen`: amax of earlier steps.
Float8Copy copy(Bench& bench, DType dtype, int64_t rows, int64_t cols, float scale,
                float seen = 0) {
  return {.data = bench.output("copy", dtype, rows, cols, scale),
          .amax = bench.floats_inout("largest", {seen})};
}

// Requested forms of an output: all of it; only its amax; only the copy.
enum class Asked { kBoth, kLook, kCopy };
constexpr Asked kAsked[] = {Asked::kBoth, Asked::kLook, Asked::kCopy};

struct Outputs {
  Tensor tensor;
  Float8Copy copy;
};

Outputs outputs(Bench& bench, Asked asked, DType dtype, int64_t rows, int64_t cols, float scale) {
  Outputs result;
  result.tensor = asked == Asked::kCopy ? bench.only_a_shape(rows, cols)
                                        : bench.compute_output("output", rows, cols);
  if (asked == Asked::kLook) {
    result.copy.amax = bench.floats_inout("largest", {0});
  } else {
    result.copy = copy(bench, dtype, rows, cols, scale);
  }
  return result;
}

class Float8 : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (!IsSkipped() && !backend().supports(Operation::kRoundToFloat8, DType::kE4M3)) {
      GTEST_SKIP() << "this device has no FP8";
    }
  }
};

// ---- GEMMs

TEST_P(Float8, Forward) {
  for (const Shape& shape : kShapes) {
    for (const Activation activation :
         {Activation::kNone, Activation::kGelu, Activation::kGeluTanh}) {
      SCOPED_TRACE(fmt::format("{}, activation {}", describe(shape), static_cast<int>(activation)));
      Inputs inputs(backend(), 1);
      const HostMatrix x = numbers(inputs, kE4M3, 256, shape.tokens, shape.in);
      const HostMatrix weight = numbers(inputs, kE4M3, 2048, shape.out, shape.in, 0.2);
      const HostMatrix bias = inputs.compute(1, shape.out);
      const auto run = [&](bool keep, Asked asked) {
        return [=](Bench& bench) {
          LinearForward op;
          op.x = bench.input(x, kE4M3, 256);
          op.weight = bench.input(weight, kE4M3, 2048);
          op.bias = bench.compute(bias);
          op.activation = activation;
          if (keep) op.pre_activation = bench.compute_output("pre", shape.tokens, shape.out);
          const Outputs y = outputs(bench, asked, kE4M3, shape.tokens, shape.out, 64);
          op.y = y.tensor;
          op.y_float8 = y.copy;
          bench.backend().linear_forward(Stream::kCompute, op);
        };
      };
      for (const Asked asked : kAsked) {
        expect_conforms(backend(), run(false, asked));
        if (activation != Activation::kNone) expect_conforms(backend(), run(true, asked));
      }
    }
  }
}

TEST_P(Float8, DataGradient) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(describe(shape));
    Inputs inputs(backend(), 2);
    const HostMatrix dy = numbers(inputs, kE5M2, 0x1p30f, shape.tokens, shape.out, 1e-5);
    const HostMatrix weight = numbers(inputs, kE4M3, 2048, shape.out, shape.in, 0.2);
    const HostMatrix pre = inputs.compute(shape.tokens, shape.in, 4);
    const HostMatrix before = inputs.compute(shape.tokens, shape.in, 1e-5);
    const auto operands = [&](Bench& bench) {
      return LinearDataGradient{.dy = bench.input(dy, kE5M2, 0x1p30f),
                                .weight = bench.input(weight, kE4M3, 2048)};
    };
    expect_conforms(backend(), [&](Bench& bench) {
      LinearDataGradient op = operands(bench);
      op.accumulate = true;
      op.dx = bench.compute_inout("dx", before);
      bench.backend().linear_data_gradient(Stream::kCompute, op);
    });
    for (const Activation activation :
         {Activation::kNone, Activation::kGelu, Activation::kGeluTanh}) {
      for (const Asked asked : kAsked) {
        expect_conforms(backend(), [&](Bench& bench) {
          LinearDataGradient op = operands(bench);
          op.activation = activation;
          if (activation != Activation::kNone) op.pre_activation = bench.compute(pre);
          const Outputs dx = outputs(bench, asked, kE5M2, shape.tokens, shape.in, 0x1p30f);
          op.dx = dx.tensor;
          op.dx_float8 = dx.copy;
          bench.backend().linear_data_gradient(Stream::kCompute, op);
        });
      }
    }
  }
}

TEST_P(Float8, WeightGradient) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(describe(shape));
    Inputs inputs(backend(), 3);
    const HostMatrix x = numbers(inputs, kE4M3, 256, shape.tokens, shape.in);
    const HostMatrix dy = numbers(inputs, kE5M2, 0x1p30f, shape.tokens, shape.out, 1e-5);
    const HostMatrix weight_before = inputs.master(shape.out, shape.in, 1e-4);
    const HostMatrix bias_before = inputs.master(1, shape.out, 1e-4);
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(accumulate ? "added" : "written");
      expect_conforms(backend(), [&](Bench& bench) {
        LinearWeightGradient op;
        op.x = bench.input(x, kE4M3, 256);
        op.dy = bench.input(dy, kE5M2, 0x1p30f);
        op.accumulate = accumulate;
        op.d_weight = bench.gradient("d_weight", weight_before, accumulate);
        op.d_bias = bench.gradient("d_bias", bias_before, accumulate);
        bench.backend().linear_weight_gradient(Stream::kCompute, op);
      });
    }
  }
}

// ---- Operations that write their operands

// This happens before the first copy, in a model's first step.
TEST_P(Float8, AmaxIsMeasuredBeforeTheFirstRounding) {
  const Shape shape{48, 128, 96};
  Inputs inputs(backend(), 4);
  const HostMatrix x = inputs.compute(shape.tokens, shape.in);
  const HostMatrix weight = inputs.compute(shape.out, shape.in, 0.2);
  const HostMatrix bias = inputs.compute(1, shape.out);
  const HostMatrix dy = inputs.compute(shape.tokens, shape.out, 1e-5);
  for (const Activation activation : {Activation::kNone, Activation::kGeluTanh}) {
    for (const Asked asked : kAsked) {
      expect_conforms(backend(), [&](Bench& bench) {
        const Outputs y = outputs(bench, asked, kE4M3, shape.tokens, shape.out, 64);
        bench.backend().linear_forward(Stream::kCompute, {.x = bench.compute(x),
                                                          .weight = bench.compute(weight),
                                                          .bias = bench.compute(bias),
                                                          .activation = activation,
                                                          .y = y.tensor,
                                                          .y_float8 = y.copy});
      });
      expect_conforms(backend(), [&](Bench& bench) {
        const Outputs dx = outputs(bench, asked, kE5M2, shape.tokens, shape.in, 0x1p30f);
        bench.backend().linear_data_gradient(Stream::kCompute, {.dy = bench.compute(dy),
                                                                .weight = bench.compute(weight),
                                                                .activation = activation,
                                                                .pre_activation = bench.compute(x),
                                                                .dx = dx.tensor,
                                                                .dx_float8 = dx.copy});
      });
    }
  }
}

// Results are exact, and saturated beyond the format's largest number.
TEST_P(Float8, TensorsAreRoundedToTheNearestCodes) {
  Inputs inputs(backend(), 5);
  for (const DType dtype : {kE4M3, kE5M2}) {
    const HostMatrix x = inputs.compute(48, 112, 2);
    for (const float scale : {0x1p-12f, 1.0f, 128.0f, 0x1p17f}) {
      const OperationCall run = [&](Bench& bench) {
        bench.backend().round_to_float8(
            Stream::kCompute, {bench.compute(x), copy(bench, dtype, x.rows, x.cols, scale, 1.5f)});
      };
      const std::vector<Output> got = run_on(backend(), run);
      EXPECT_EQ(got[0].matrix.values, rounded(x, dtype, scale).values) << scale;
      double largest = 1.5;
      for (const double value : x.values) largest = std::max(largest, std::abs(value));
      EXPECT_EQ(got[1].matrix.values[0], static_cast<float>(largest));
      expect_conforms(backend(), run);
    }
    // A larger amax of earlier steps is kept.
    const auto seen = run_on(backend(), [&](Bench& bench) {
      bench.backend().round_to_float8(
          Stream::kCompute, {bench.compute(x), {.amax = bench.floats_inout("largest", {7})}});
    });
    EXPECT_EQ(seen[0].matrix.values[0], 7);
  }
}

// T is a multiple of 16; H 64 and 128 use different shapes of a warp's row.
TEST_P(Float8, LayerNorm) {
  const Packed batch({5, 27, 64});
  const int64_t t = batch.tokens();
  for (const int64_t h : {64, 128, 384, 1024}) {
    SCOPED_TRACE(h);
    Inputs inputs(backend(), 6);
    const HostMatrix x = inputs.compute(t, h, 2), residual = inputs.compute(t, h),
                     gamma = inputs.compute(1, h, 0.5, 1), beta = inputs.compute(1, h, 0.5),
                     dy = inputs.compute(t, h, 1e-5), gradient = inputs.master(1, h);
    const Dropout dropout{0.1f, dropout_step_key(1, 2), dropout_place(3, DropoutSite::kOutput)};
    const OperationCall forward = [&](Bench& bench) {
      bench.backend().residual_layernorm_forward(
          Stream::kCompute, {.x = bench.compute(x),
                             .residual = bench.compute(residual),
                             .gamma = bench.compute(gamma),
                             .beta = bench.compute(beta),
                             .dropout = bench.in_memory(dropout),
                             .sequences = bench.sequences(batch),
                             .normalized = bench.compute_output("normalized", t, h),
                             .inverse_stddev = bench.master_output("inverse_stddev", 1, t),
                             .y = bench.compute_output("y", t, h),
                             .y_float8 = copy(bench, kE4M3, t, h, 64)});
    };
    expect_conforms(backend(), forward);
    auto saved = run_on_reference(forward);
    for (const Asked asked : kAsked) {
      expect_conforms(backend(), [&](Bench& bench) {
        const Outputs d_x = outputs(bench, asked, kE5M2, t, h, 0x1p30f);
        bench.backend().residual_layernorm_backward(
            Stream::kCompute, {.dy = bench.compute(dy),
                               .normalized = bench.compute(
                                   rounded(saved["normalized"], bench.backend().compute_dtype())),
                               .inverse_stddev = bench.master(saved["inverse_stddev"]),
                               .gamma = bench.compute(gamma),
                               .dropout = bench.in_memory(dropout),
                               .sequences = bench.sequences(batch),
                               .d_x = d_x.tensor,
                               .d_x_float8 = d_x.copy,
                               .d_residual = bench.compute_output("d_residual", t, h),
                               .accumulate = true,
                               .d_gamma = bench.master_inout("d_gamma", gradient),
                               .d_beta = bench.master_inout("d_beta", gradient)});
      });
    }
  }
}

TEST_P(Float8, Embeddings) {
  const Packed batch({5, 27, 64});
  const int64_t t = batch.tokens(), h = 128;
  Inputs inputs(backend(), 7);
  const std::vector<int32_t> tokens = inputs.indices(t, 30), segments = inputs.indices(t, 2);
  const HostMatrix word = inputs.compute(30, h), position = inputs.compute(64, h),
                   segment = inputs.compute(2, h), gamma = inputs.compute(1, h, 0.5, 1),
                   beta = inputs.compute(1, h, 0.5);
  expect_conforms(backend(), [&](Bench& bench) {
    bench.backend().embeddings_forward(
        Stream::kCompute, {.token_ids = bench.indices(tokens),
                           .segment_ids = bench.indices(segments),
                           .positions = bench.indices(batch.positions),
                           .sequences = bench.sequences(batch),
                           .word = bench.compute(word),
                           .position = bench.compute(position),
                           .segment = bench.compute(segment),
                           .gamma = bench.compute(gamma),
                           .beta = bench.compute(beta),
                           .dropout = bench.in_memory({0.1f, dropout_step_key(1, 2),
                                                       dropout_place(0, DropoutSite::kEmbeddings)}),
                           .y = bench.compute_output("y", t, h),
                           .y_float8 = copy(bench, kE4M3, t, h, 64)});
  });
}

// Heads of 64, 32 and 16 units.
TEST_P(Float8, Attention) {
  const Packed batch({5, 91, 64, 16});
  const int64_t t = batch.tokens(), h = 64;
  for (const int32_t heads : {1, 2, 4}) {
    SCOPED_TRACE(heads);
    Inputs inputs(backend(), 8);
    const HostMatrix qkv = inputs.compute(t, 3 * h, 1.7), d_context = inputs.compute(t, h, 1e-5);
    const Dropout dropout{0.1f, dropout_step_key(1, 2), dropout_place(3, DropoutSite::kAttention)};
    const OperationCall forward = [&](Bench& bench) {
      bench.backend().attention_forward(
          Stream::kCompute, {.qkv = bench.compute(qkv),
                             .sequences = bench.sequences(batch),
                             .heads = heads,
                             .dropout = bench.in_memory(dropout),
                             .context = bench.compute_output("context", t, h),
                             .context_float8 = copy(bench, kE4M3, t, h, 64),
                             .log_sum_exp = bench.master_output("log_sum_exp", t, heads)});
    };
    expect_conforms(backend(), forward);
    auto saved = run_on_reference(forward);
    for (const Asked asked : kAsked) {
      expect_conforms(backend(), [&](Bench& bench) {
        const Outputs d_qkv = outputs(bench, asked, kE5M2, t, 3 * h, 0x1p30f);
        bench.backend().attention_backward(
            Stream::kCompute,
            {.qkv = bench.compute(qkv),
             .context = bench.compute(rounded(saved["context"], bench.backend().compute_dtype())),
             .d_context = bench.compute(d_context),
             .log_sum_exp =
                 bench.master(rounded(saved["log_sum_exp"], bench.backend().master_dtype())),
             .sequences = bench.sequences(batch),
             .heads = heads,
             .dropout = bench.in_memory(dropout),
             .d_qkv = d_qkv.tensor,
             .d_qkv_float8 = d_qkv.copy});
      });
    }
  }
}

// ---- Scales

TEST_P(Float8, ScalesFollowTheLargestOfTheLastSteps) {
  constexpr int64_t kTensors = 3;
  const auto run = [](int steps) {
    return [=](Bench& bench) {
      Float8Update op;
      op.scales = bench.floats_inout("scales", std::vector<float>(2 * kTensors));
      op.amax = bench.floats_inout("largest", {4, 0, 0.01f});
      op.history = bench.floats_inout("history", std::vector<float>(kTensors * kFloat8History));
      op.count = kTensors;
      op.limit = E4M3::kLargest;
      for (int step = 0; step < steps; ++step) bench.backend().float8_update(Stream::kCompute, op);
    };
  };
  const auto scales_after = [&](int steps) {
    return run_on_reference(run(steps))["scales"].values;
  };
  // 448 / 4 = 112 and 448 / 0.01 = 44800, rounded down to powers of two; amax 0 gives 1.
  const std::vector<double> seen = {64, 1.0 / 64, 1, 1, 32768, 1.0 / 32768};
  EXPECT_EQ(scales_after(1), seen);
  EXPECT_EQ(scales_after(kFloat8History), seen);
  EXPECT_EQ(scales_after(kFloat8History + 1), (std::vector<double>{1, 1, 1, 1, 1, 1}));
  for (const int steps : {1, 2, kFloat8History, kFloat8History + 1}) {
    expect_conforms(backend(), run(steps));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Float8, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
