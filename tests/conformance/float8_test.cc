// Products in 8 bits. What remains between a backend and the reference is the order of sums: both
// round operands to the same numbers.
#include "device/float8.h"

#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct Shape {
  int64_t tokens, in, out;
};

constexpr Shape kShapes[] = {{16, 64, 64}, {48, 128, 96}, {80, 64, 256}, {144, 384, 112}};

std::string describe(const Shape& shape) {
  return fmt::format("T {}, in {}, out {}", shape.tokens, shape.in, shape.out);
}

// `seen`: the largest value of steps before.
Float8Scaling scaling(Bench& bench, const char* name, float scale, float seen) {
  return {.scale = bench.floats_inout((std::string(name) + ".scale").c_str(), {scale, 1 / scale}),
          .largest = bench.floats_inout(name, {seen})};
}

class Float8 : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (!IsSkipped() && !backend().has_float8()) {
      GTEST_SKIP() << "this device multiplies nothing in 8 bits";
    }
  }
};

TEST_P(Float8, Forward) {
  for (const Shape& shape : kShapes) {
    for (const Activation activation :
         {Activation::kNone, Activation::kGelu, Activation::kGeluTanh}) {
      SCOPED_TRACE(fmt::format("{}, activation {}", describe(shape), static_cast<int>(activation)));
      Inputs inputs(backend(), 1);
      const HostMatrix x = inputs.compute(shape.tokens, shape.in);
      const HostMatrix weight = inputs.compute(shape.out, shape.in, 0.2);
      const HostMatrix bias = inputs.compute(1, shape.out);
      const auto run = [&](float x_scale, bool keep) {
        return [=](Bench& bench) {
          LinearForward op;
          op.x = bench.compute(x);
          op.weight = bench.compute(weight);
          op.bias = bench.compute(bias);
          op.activation = activation;
          if (keep) op.pre_activation = bench.compute_output("pre", shape.tokens, shape.out);
          op.y = bench.compute_output("y", shape.tokens, shape.out);
          op.x_scaling = scaling(bench, "x", x_scale, 0.5f);
          op.weight_scaling = scaling(bench, "weight", 2048, 7.0f);
          bench.backend().linear_forward(Stream::kCompute, op);
        };
      };
      expect_conforms(backend(), run(256, false));
      if (activation != Activation::kNone) expect_conforms(backend(), run(256, true));
      // At another scale, values beyond the largest number saturate.
      auto fine = run_on_reference(run(256, false)), saturated = run_on_reference(run(1024, false));
      EXPECT_NE(fine["y"].values, saturated["y"].values);
      expect_conforms(backend(), run(1024, false));
      EXPECT_GT(fine["x"].values[0], 0.9);
      EXPECT_EQ(fine["weight"].values[0], 7);
    }
  }
}

TEST_P(Float8, DataGradient) {
  for (const Shape& shape : kShapes) {
    Inputs inputs(backend(), 2);
    const HostMatrix dy = inputs.compute(shape.tokens, shape.out, 1e-5);
    const HostMatrix weight = inputs.compute(shape.out, shape.in, 0.2);
    const HostMatrix pre = inputs.compute(shape.tokens, shape.in, 4);
    const HostMatrix before = inputs.compute(shape.tokens, shape.in, 1e-5);
    const auto run = [&](Activation activation, bool accumulate) {
      return [=](Bench& bench) {
        LinearDataGradient op;
        op.dy = bench.compute(dy);
        op.weight = bench.compute(weight);
        op.activation = activation;
        if (activation != Activation::kNone) op.pre_activation = bench.compute(pre);
        op.accumulate = accumulate;
        op.dx = accumulate ? bench.compute_inout("dx", before)
                           : bench.compute_output("dx", shape.tokens, shape.in);
        op.dy_scaling = scaling(bench, "dy", 0x1p30f, 0);
        op.weight_scale = scaling(bench, "weight", 2048, 0).scale;
        bench.backend().linear_data_gradient(Stream::kCompute, op);
      };
    };
    SCOPED_TRACE(describe(shape));
    expect_conforms(backend(), run(Activation::kNone, false));
    expect_conforms(backend(), run(Activation::kNone, true));
    expect_conforms(backend(), run(Activation::kGelu, false));
    expect_conforms(backend(), run(Activation::kGeluTanh, false));
  }
}

TEST_P(Float8, WeightGradient) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(describe(shape));
    Inputs inputs(backend(), 3);
    const HostMatrix x = inputs.compute(shape.tokens, shape.in);
    const HostMatrix dy = inputs.compute(shape.tokens, shape.out, 1e-5);
    const HostMatrix weight_before = inputs.master(shape.out, shape.in, 1e-4);
    const HostMatrix bias_before = inputs.master(1, shape.out, 1e-4);
    expect_conforms(backend(), [&](Bench& bench) {
      LinearWeightGradient op;
      op.x = bench.compute(x);
      op.dy = bench.compute(dy);
      op.d_weight = bench.master_inout("d_weight", weight_before);
      op.d_bias = bench.master_inout("d_bias", bias_before);
      op.x_scale = scaling(bench, "x", 256, 0).scale;
      op.dy_scale = scaling(bench, "dy", 0x1p30f, 0).scale;
      bench.backend().linear_weight_gradient(Stream::kCompute, op);
    });
  }
}

TEST_P(Float8, WithoutScalesOperandsAreLookedAtAndNotRounded) {
  const Shape shape{48, 128, 96};
  Inputs inputs(backend(), 4);
  const HostMatrix x = inputs.compute(shape.tokens, shape.in);
  const HostMatrix weight = inputs.compute(shape.out, shape.in, 0.2);
  const HostMatrix bias = inputs.compute(1, shape.out);
  const auto run = [&](bool look) {
    return [=](Bench& bench) {
      LinearForward op;
      op.x = bench.compute(x);
      op.weight = bench.compute(weight);
      op.bias = bench.compute(bias);
      op.y = bench.compute_output("y", shape.tokens, shape.out);
      if (look) {
        op.x_scaling.largest = bench.floats_inout("x", {0});
        op.weight_scaling.largest = bench.floats_inout("weight", {0.125f});
      }
      bench.backend().linear_forward(Stream::kCompute, op);
    };
  };
  auto looked = run_on_reference(run(true)), plain = run_on_reference(run(false));
  EXPECT_EQ(looked["y"].values, plain["y"].values);
  EXPECT_GT(looked["x"].values[0], 0.9);
  EXPECT_GT(looked["weight"].values[0], 0.19);
  expect_conforms(backend(), run(true));
}

TEST_P(Float8, ScalesFollowTheLargestOfTheLastSteps) {
  constexpr int64_t kTensors = 3;
  const auto run = [](int steps) {
    return [=](Bench& bench) {
      Float8Update op;
      op.scales = bench.floats_inout("scales", std::vector<float>(2 * kTensors));
      op.largest = bench.floats_inout("largest", {4, 0, 0.01f});
      op.history = bench.floats_inout("history", std::vector<float>(kTensors * kFloat8History));
      op.count = kTensors;
      op.limit = E4M3::kLargest;
      for (int step = 0; step < steps; ++step) bench.backend().float8_update(Stream::kCompute, op);
    };
  };
  const auto scales_after = [&](int steps) {
    return run_on_reference(run(steps))["scales"].values;
  };
  // 448 / 4 = 112 and 448 / 0.01 = 44800, rounded down to powers of two; nothing seen is 1.
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
