#include <gtest/gtest.h>

#include "base/error.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

constexpr int64_t kRows = 5, kLossHidden = 4, kClasses = 7;

struct Classifier {
  ClassifierLoss evaluation() {
    ClassifierLoss op;
    op.x = matrix(x, kRows);
    op.weight = matrix(weight, kClasses);
    op.bias = vector(bias);
    op.labels = labels.data();
    op.totals = &totals;
    return op;
  }
  double loss() {
    totals = {};
    classifier_loss(evaluation());
    return totals.loss;
  }

  Values x = random_values(kRows * kLossHidden, 1),
         weight = random_values(kClasses * kLossHidden, 2);
  Values bias = random_values(kClasses, 3);
  std::vector<int32_t> labels = {6, 0, 3, 3, 1};
  LossTotals totals;
};

TEST(ClassifierLoss, GradientsAreTheDerivativesOfTheScaledLoss) {
  Classifier classifier;
  Values d_x(kRows * kLossHidden, 9.0), d_weight(kClasses * kLossHidden, 1.0),
      d_bias(kClasses, 2.0);
  ClassifierLoss op = classifier.evaluation();
  op.gradient_scale = 0.25f;
  op.d_x = matrix(d_x, kRows);
  op.accumulate = true;
  op.d_weight = matrix(d_weight, kClasses);
  op.d_bias = vector(d_bias);
  classifier_loss(op);
  for (double& value : d_weight) value -= 1;
  for (double& value : d_bias) value -= 2;
  const auto loss = [&] { return 0.25 * classifier.loss(); };
  expect_gradient("d_x", d_x, numeric_gradient(classifier.x, loss));
  expect_gradient("d_weight", d_weight, numeric_gradient(classifier.weight, loss));
  expect_gradient("d_bias", d_bias, numeric_gradient(classifier.bias, loss));
}

TEST(ClassifierLoss, TotalsAddUpOverCalls) {
  Classifier classifier;
  const double once = classifier.loss();
  const int64_t correct = classifier.totals.correct;
  classifier_loss(classifier.evaluation());
  EXPECT_DOUBLE_EQ(classifier.totals.loss, 2 * once);
  EXPECT_EQ(classifier.totals.correct, 2 * correct);
  EXPECT_EQ(classifier.totals.count, 2 * kRows);
}

TEST(ClassifierLoss, EqualScoresPredictTheLowestClassAndLoseTheLogOfTheClasses) {
  Classifier classifier;
  classifier.x.assign(classifier.x.size(), 0.0);
  classifier.bias.assign(kClasses, 1.0);
  EXPECT_NEAR(classifier.loss(), kRows * std::log(7.0), 1e-14);
  EXPECT_EQ(classifier.totals.correct, 1);  // the only row whose label is 0
}

TEST(ClassifierLoss, LargeScoresDoNotOverflow) {
  Classifier classifier;
  for (double& value : classifier.x) value *= 1e4;
  EXPECT_TRUE(std::isfinite(classifier.loss()));
}

TEST(ClassifierLoss, ALabelBeyondTheClassesIsAnError) {
  Classifier classifier;
  classifier.labels[3] = kClasses;
  EXPECT_THROW(classifier.loss(), Error);
}

}  // namespace
}  // namespace strata::device::reference
