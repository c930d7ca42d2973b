#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct LinearShape {
  int64_t tokens, in, out;
};

constexpr LinearShape kLinearShapes[] = {
    {1, 64, 64},    {1, 384, 128},  {37, 64, 192},  {37, 128, 512}, {129, 384, 64},
    {129, 64, 256}, {515, 128, 64}, {515, 64, 384}, {64, 128, 128}, {2, 1024, 2}};
constexpr Activation kActivations[] = {Activation::kNone, Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kTanh};

std::string describe(const LinearShape& shape) {
  return fmt::format("T {}, in {}, out {}", shape.tokens, shape.in, shape.out);
}

// Keeps sums of `in` products in the curved range of activations.
double weight_spread(const LinearShape& shape) {
  return 4 / std::sqrt(static_cast<double>(shape.in));
}

class Linear : public Conformance {};

TEST_P(Linear, Forward) {
  for (const LinearShape& shape : kLinearShapes) {
    if (few_shapes() && shape.tokens > 40) continue;
    Inputs inputs(backend(), 1);
    const HostMatrix x = inputs.compute(shape.tokens, shape.in);
    const HostMatrix weight = inputs.compute(shape.out, shape.in, weight_spread(shape));
    const HostMatrix bias = inputs.compute(1, shape.out);
    for (const Activation activation : kActivations) {
      for (const bool keep : {false, true}) {
        if (activation == Activation::kNone && keep) continue;
        SCOPED_TRACE(fmt::format("{}, activation {}, pre_activation {}", describe(shape),
                                 static_cast<int>(activation), keep ? "kept" : "absent"));
        expect_conforms(backend(), [&](Bench& bench) {
          LinearForward op;
          op.x = bench.compute(x);
          op.weight = bench.compute(weight);
          op.bias = bench.compute(bias);
          op.activation = activation;
          if (keep) op.pre_activation = bench.compute_output("pre", shape.tokens, shape.out);
          op.y = bench.compute_output("y", shape.tokens, shape.out);
          bench.backend().linear_forward(Stream::kCompute, op);
        });
      }
    }
  }
}

TEST_P(Linear, DataGradient) {
  for (const LinearShape& shape : kLinearShapes) {
    if (few_shapes() && shape.tokens > 40) continue;
    Inputs inputs(backend(), 2);
    const HostMatrix dy = inputs.compute(shape.tokens, shape.out);
    const HostMatrix weight = inputs.compute(shape.out, shape.in);
    const HostMatrix pre = inputs.compute(shape.tokens, shape.in, 4);
    for (const Activation activation : kActivations) {
      SCOPED_TRACE(fmt::format("{}, activation {}", describe(shape), static_cast<int>(activation)));
      expect_conforms(backend(), [&](Bench& bench) {
        LinearDataGradient op;
        op.dy = bench.compute(dy);
        op.weight = bench.compute(weight);
        op.activation = activation;
        if (activation != Activation::kNone) op.pre_activation = bench.compute(pre);
        op.dx = bench.compute_output("dx", shape.tokens, shape.in);
        bench.backend().linear_data_gradient(Stream::kCompute, op);
      });
    }
  }
}

// A backend may sum the bias gradient here and leave it out of the weight gradient.
TEST_P(Linear, DataGradientMayAlsoComputeTheBiasGradient) {
  for (const LinearShape& shape : kLinearShapes) {
    Inputs inputs(backend(), 2);
    const HostMatrix dy = inputs.compute(shape.tokens, shape.out);
    const HostMatrix weight = inputs.compute(shape.out, shape.in);
    const HostMatrix pre = inputs.compute(shape.tokens, shape.in, 4);
    const HostMatrix x = inputs.compute(shape.tokens, shape.out);
    const HostMatrix before = inputs.master(1, shape.in, 10);
    for (const Activation activation : kActivations) {
      if (activation == Activation::kNone) continue;
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, activation {}, {}", describe(shape),
                                 static_cast<int>(activation), accumulate ? "added" : "written"));
        bool done = false;
        const auto data_gradient = [&](Bench& bench) {
          LinearDataGradient op;
          op.dy = bench.compute(dy);
          op.weight = bench.compute(weight);
          op.activation = activation;
          op.pre_activation = bench.compute(pre);
          op.dx = bench.compute_output("dx", shape.tokens, shape.in);
          bool summed = false;
          op.dx_sums = {bench.gradient("dx_sums", before, accumulate), accumulate, &summed};
          bench.backend().linear_data_gradient(Stream::kCompute, op);
          done = summed;
        };
        run_on(backend(), data_gradient);
        if (!done && activation == Activation::kGeluTanh) continue;  // it is the GEMM's epilogue
        if (!done) GTEST_SKIP() << "this backend leaves it to linear_weight_gradient";
        expect_conforms(backend(), data_gradient);
        expect_conforms(backend(), [&](Bench& bench) {
          LinearWeightGradient op;
          op.x = bench.compute(x);
          op.dy = bench.compute(dy);
          op.d_weight = bench.master_output("d_weight", shape.out, shape.out);
          bench.backend().linear_weight_gradient(Stream::kCompute, op);
        });
      }
    }
  }
}

TEST_P(Linear, DataGradientAccumulates) {
  for (const LinearShape& shape : kLinearShapes) {
    if (few_shapes() && shape.tokens > 40) continue;
    SCOPED_TRACE(describe(shape));
    Inputs inputs(backend(), 3);
    const HostMatrix dy = inputs.compute(shape.tokens, shape.out);
    const HostMatrix weight = inputs.compute(shape.out, shape.in);
    const HostMatrix before = inputs.compute(shape.tokens, shape.in, 10);
    expect_conforms(backend(), [&](Bench& bench) {
      LinearDataGradient op;
      op.dy = bench.compute(dy);
      op.weight = bench.compute(weight);
      op.accumulate = true;
      op.dx = bench.compute_inout("dx", before);
      bench.backend().linear_data_gradient(Stream::kCompute, op);
    });
  }
}

TEST_P(Linear, WeightGradient) {
  for (const LinearShape& shape : kLinearShapes) {
    if (few_shapes() && shape.tokens > 40) continue;
    SCOPED_TRACE(describe(shape));
    Inputs inputs(backend(), 4);
    const HostMatrix x = inputs.compute(shape.tokens, shape.in);
    const HostMatrix dy = inputs.compute(shape.tokens, shape.out);
    const HostMatrix weight_before = inputs.master(shape.out, shape.in, 10);
    const HostMatrix bias_before = inputs.master(1, shape.out, 10);
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(accumulate ? "added" : "written");
      expect_conforms(backend(), [&](Bench& bench) {
        LinearWeightGradient op;
        op.x = bench.compute(x);
        op.dy = bench.compute(dy);
        op.accumulate = accumulate;
        op.d_weight = bench.gradient("d_weight", weight_before, accumulate);
        op.d_bias = bench.gradient("d_bias", bias_before, accumulate);
        bench.backend().linear_weight_gradient(Stream::kCompute, op);
      });
    }
  }
}

TEST_P(Linear, ActivationBackward) {
  for (const Activation activation : kActivations) {
    for (const auto& [rows, cols] : {std::pair{1, 7}, {3, 37}, {129, 64}, {525, 128}}) {
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(fmt::format("activation {}, [{}, {}]{}", static_cast<int>(activation), rows,
                                 cols, in_place ? ", in place" : ""));
        Inputs inputs(backend(), 5);
        const HostMatrix dy = inputs.compute(rows, cols), pre = inputs.compute(rows, cols, 8);
        expect_conforms(backend(), [&](Bench& bench) {
          ActivationBackward op;
          op.activation = activation;
          op.pre_activation = bench.compute(pre);
          op.dx = in_place ? bench.compute_inout("dx", dy) : bench.compute_output("dx", rows, cols);
          op.dy = in_place ? ConstTensor(op.dx) : bench.compute(dy);
          bench.backend().activation_backward(Stream::kCompute, op);
        });
      }
    }
  }
}

// For large inputs an activation is 0 or the identity; NaN must stay NaN.
TEST_P(Linear, ActivationBackwardOfTheLargestNumbersAndOfNaN) {
  HostMatrix pre{1, 67, {}}, dy{1, 67, std::vector<double>(67, 1.0)};
  const std::vector<double> some = {
      20, -20, 300, -300, 30000, -30000, std::numeric_limits<double>::quiet_NaN()};
  for (size_t i = 0; i < 67; ++i) pre.values.push_back(some[i % some.size()]);
  for (const Activation activation : kActivations) {
    if (activation == Activation::kNone) continue;
    SCOPED_TRACE(fmt::format("activation {}", static_cast<int>(activation)));
    const auto outputs = run_on(backend(), [&](Bench& bench) {
      ActivationBackward op;
      op.activation = activation;
      op.pre_activation = bench.compute(pre);
      op.dx = bench.compute_output("dx", 1, 67);
      op.dy = bench.compute(dy);
      bench.backend().activation_backward(Stream::kCompute, op);
    });
    for (size_t i = 0; i < 67; ++i) {
      const double x = pre.values[i], got = outputs[0].matrix.values[i];
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(got)) << got;
      } else {
        EXPECT_NEAR(got, activation != Activation::kTanh && x > 0 ? 1 : 0, 1e-6) << x;
      }
    }
  }
}

// A micro-batch may have no masked position.
TEST_P(Linear, NoRowsIsNoWork) {
  const HostMatrix none{0, 64, {}}, weight = Inputs(backend(), 6).compute(64, 64);
  const HostMatrix weight_before = Inputs(backend(), 7).master(64, 64);
  const HostMatrix bias = Inputs(backend(), 8).compute(1, 64);
  for (const bool accumulate : {false, true}) {
    expect_conforms(backend(), [&](Bench& bench) {
      LinearForward op;
      op.x = bench.compute(none);
      op.weight = bench.compute(weight);
      op.bias = bench.compute(bias);
      op.activation = Activation::kGelu;
      op.y = bench.compute_output("y", 0, 64);
      bench.backend().linear_forward(Stream::kCompute, op);
      LinearDataGradient data;
      data.dy = bench.compute(none);
      data.weight = op.weight;
      data.dx = bench.compute_output("dx", 0, 64);
      bench.backend().linear_data_gradient(Stream::kCompute, data);
      LinearWeightGradient gradient;
      gradient.x = op.x;
      gradient.dy = data.dy;
      gradient.accumulate = accumulate;
      gradient.d_weight = bench.gradient("d_weight", weight_before, accumulate);
      gradient.d_bias = bench.gradient("d_bias", bias, accumulate);
      bench.backend().linear_weight_gradient(Stream::kCompute, gradient);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Linear, testing::ValuesIn(tested_linear()), name_of_backend);

}  // namespace
}  // namespace strata::device
