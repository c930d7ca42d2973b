#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct Shape {
  int64_t rows, hidden, classes;
};

constexpr Shape kShapes[] = {{1, 64, 2},      {37, 128, 2},    {129, 384, 2},   {1, 64, 1000},
                             {37, 128, 1000}, {37, 384, 1000}, {129, 64, 1000}, {515, 64, 1000},
                             {1, 64, 30522},  {19, 128, 30522}};
// More rows than implementations hold logits of at a time.
constexpr Shape kManyRows{4100, 16, 8};
const LossTotals kBefore{.loss = 3.5, .correct = 11, .count = 20};

// Rows with a clear preference, so that rounding cannot change the best class: x is that class's
// weights plus noise. Every other row has another label.
struct Problem {
  Problem(const Backend& backend, const Shape& shape)
      : inputs(backend, 1),
        weight(inputs.compute(shape.classes, shape.hidden)),
        bias(inputs.compute(1, shape.classes, 0.5)),
        x(inputs.compute(shape.rows, shape.hidden, 0.25)),
        labels(inputs.indices(shape.rows, shape.classes)) {
    const double pull = 24.0 / static_cast<double>(shape.hidden);
    for (int64_t m = 0; m < shape.rows; ++m) {
      const int64_t preferred = labels[m];
      for (int64_t h = 0; h < shape.hidden; ++h) {
        x.values[m * shape.hidden + h] += pull * weight.values[preferred * shape.hidden + h];
      }
      // The last class occurs more often, so that the gradients of two biases do not cancel.
      if (m % 4 == 1) labels[m] = static_cast<int32_t>((preferred + 1) % shape.classes);
      if (m % 4 == 3) labels[m] = static_cast<int32_t>(shape.classes - 1);
    }
    x = rounded(x, backend.compute_dtype());
  }

  ClassifierLoss place(Bench& bench) const {
    ClassifierLoss op;
    op.x = bench.compute(x);
    op.weight = bench.compute(weight);
    op.bias = bench.compute(bias);
    op.labels = bench.indices(labels);
    op.gradient_scale = bench.in_memory(0.03125f);
    op.totals = bench.totals_inout(kBefore);
    return op;
  }

  Inputs inputs;
  HostMatrix weight, bias, x;
  std::vector<int32_t> labels;
};

class Classifier : public Conformance {
 protected:
  void expect_loss_and_gradients(const Shape& shape) {
    Problem problem(backend(), shape);
    const HostMatrix d_weight = problem.inputs.master(shape.classes, shape.hidden, 0.1);
    const HostMatrix d_bias = problem.inputs.master(1, shape.classes, 0.1);
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(accumulate ? "added" : "written");
      expect_conforms(backend(), [&](Bench& bench) {
        ClassifierLoss op = problem.place(bench);
        op.d_x = bench.compute_output("d_x", shape.rows, shape.hidden);
        op.accumulate = accumulate;
        op.d_weight = bench.gradient("d_weight", d_weight, accumulate);
        op.d_bias = bench.gradient("d_bias", d_bias, accumulate);
        bench.backend().classifier_loss(Stream::kCompute, op);
      });
    }
  }

  void for_every_shape(const std::function<void(const Shape&)>& check) {
    for (const Shape& shape : kShapes) {
      const bool is_small = shape.rows * shape.hidden * shape.classes <= 5'000'000;
      if (few_shapes() && (!is_small || shape.classes > 1000)) continue;
      SCOPED_TRACE(fmt::format("M {}, H {}, C {}", shape.rows, shape.hidden, shape.classes));
      check(shape);
    }
  }
};

TEST_P(Classifier, LossAndGradients) {
  for_every_shape([&](const Shape& shape) { expect_loss_and_gradients(shape); });
}

TEST_P(Classifier, LossAndGradientsOfManyRows) {
  expect_loss_and_gradients(few_shapes() ? kShapes[1] : kManyRows);
}

TEST_P(Classifier, EvaluationNeedsNoGradients) {
  for_every_shape([&](const Shape& shape) {
    const Problem problem(backend(), shape);
    expect_conforms(backend(), [&](Bench& bench) {
      bench.backend().classifier_loss(Stream::kCompute, problem.place(bench));
    });
  });
}

// The margin of the preferred class is large enough for the comparison of counts above.
TEST_P(Classifier, CountsDoNotDependOnRounding) {
  for_every_shape([&](const Shape& shape) {
    const Problem problem(backend(), shape);
    const auto results = run_on_reference([&](Bench& bench) {
      bench.backend().classifier_loss(Stream::kCompute, problem.place(bench));
    });
    for (int64_t m = 0; m < shape.rows; ++m) {
      double best = -1e30, second = -1e30;
      for (int64_t c = 0; c < shape.classes; ++c) {
        double score = problem.bias.values[c];
        for (int64_t h = 0; h < shape.hidden; ++h) {
          score +=
              problem.x.values[m * shape.hidden + h] * problem.weight.values[c * shape.hidden + h];
        }
        second = std::max(second, std::min(score, best));
        best = std::max(best, score);
      }
      ASSERT_GT(best - second, 0.02 * std::abs(best)) << "row " << m;
    }
    EXPECT_EQ(results.at("totals.count").values[0], 20 + shape.rows);
  });
}

TEST_P(Classifier, EqualScoresCountForTheLowestClass) {
  for (const int64_t classes : {2, 1000}) {
    SCOPED_TRACE(classes);
    constexpr int64_t kRows = 3, kHidden = 64;
    const HostMatrix x{kRows, kHidden, std::vector<double>(kRows * kHidden)};
    const HostMatrix weight = Inputs(backend(), 1).compute(classes, kHidden);
    const HostMatrix bias{1, classes, std::vector<double>(classes, 0.5)};
    const OperationCall operation = [&](Bench& bench) {
      ClassifierLoss op;
      op.x = bench.compute(x);
      op.weight = bench.compute(weight);
      op.bias = bench.compute(bias);
      op.labels = bench.indices({0, 1, 0});
      op.totals = bench.totals_inout({});
      bench.backend().classifier_loss(Stream::kCompute, op);
    };
    EXPECT_EQ(run_on_reference(operation).at("totals.correct").values[0], 2);
    expect_conforms(backend(), operation);
  }
}

TEST_P(Classifier, LargeScoresDoNotOverflow) {
  Problem problem(backend(), {37, 64, 1000});
  for (double& value : problem.x.values) value *= 128;
  expect_conforms(backend(), [&](Bench& bench) {
    bench.backend().classifier_loss(Stream::kCompute, problem.place(bench));
  });
}

// Padding of a batch consists of such rows.
TEST_P(Classifier, RowsWithoutALabelCountForNothing) {
  for_every_shape([&](const Shape& shape) {
    Problem all(backend(), shape);
    const HostMatrix d_weight = all.inputs.master(shape.classes, shape.hidden, 0.1);
    const HostMatrix d_bias = all.inputs.master(1, shape.classes, 0.1);
    for (size_t row = 0; row < all.labels.size(); row += 3) all.labels[row] = -1;
    const OperationCall operation = [&](Bench& bench) {
      ClassifierLoss op = all.place(bench);
      op.d_x = bench.compute_output("d_x", shape.rows, shape.hidden);
      op.accumulate = true;
      op.d_weight = bench.master_inout("d_weight", d_weight);
      op.d_bias = bench.master_inout("d_bias", d_bias);
      bench.backend().classifier_loss(Stream::kCompute, op);
    };
    auto expected = run_on_reference(operation);
    EXPECT_EQ(expected["totals.count"].values[0], 20 + shape.rows - (shape.rows + 2) / 3);
    EXPECT_EQ(expected["d_x"].values[0], 0);
    expect_conforms(backend(), operation);
  });
}

// A micro-batch may have no masked position.
TEST_P(Classifier, NoRowsIsNoWork) {
  Problem problem(backend(), {0, 64, 1000});
  const HostMatrix d_weight = problem.inputs.master(1000, 64);
  const HostMatrix d_bias = problem.inputs.master(1, 1000);
  for (const bool accumulate : {false, true}) {
    expect_conforms(backend(), [&](Bench& bench) {
      ClassifierLoss op = problem.place(bench);
      op.d_x = bench.compute_output("d_x", 0, 64);
      op.accumulate = accumulate;
      op.d_weight = bench.gradient("d_weight", d_weight, accumulate);
      op.d_bias = bench.gradient("d_bias", d_bias, accumulate);
      bench.backend().classifier_loss(Stream::kCompute, op);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Classifier, testing::ValuesIn(tested_backends()),
                         name_of_backend);

}  // namespace
}  // namespace strata::device
