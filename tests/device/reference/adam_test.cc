#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

void expect_near(const char* name, const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-14) << name;
}

// tests/golden/optim/adam_update.py: PyTorch's AdamW in f64.
TEST(Adam, FollowsPyTorch) {
  const auto golden =
      nlohmann::json::parse(read_file(STRATA_SOURCE_DIR "/tests/golden/optim/adam_update.json"));
  const auto& settings = golden["settings"];
  Values weights = golden["initial_weights"].get<Values>();
  Values compute_weights(weights.size()), first(weights.size()), second(weights.size());
  AdamUpdate op;
  op.learning_rate = settings["learning_rate"].get<float>();
  op.beta1 = settings["beta1"];
  op.beta2 = settings["beta2"];
  op.epsilon = settings["epsilon"];
  op.weight_decay = settings["weight_decay"];
  op.clip.scale = settings["gradient_scale"];
  op.clip.max_norm = settings["max_norm"];
  int64_t step = 0;
  for (const auto& expected : golden["steps"]) {
    op.corrections = bias_corrections(op.beta1, op.beta2, ++step);
    Values gradient = expected["gradient"].get<Values>();
    double norm_squared = 0;
    l2_norm_squared({vector(gradient), &norm_squared});
    op.clip.norm_squared = &norm_squared;
    op.weights = vector(weights);
    op.compute_weights = vector(compute_weights);
    op.gradients = vector(gradient);
    op.first_moment = vector(first);
    op.second_moment = vector(second);
    adam_update(op);
    expect_near("weights", weights, expected["weights"].get<Values>());
    expect_near("first moment", first, expected["first_moment"].get<Values>());
    expect_near("second moment", second, expected["second_moment"].get<Values>());
    EXPECT_EQ(compute_weights, weights);
  }
}

TEST(Adam, WithoutANormTheGradientIsNotClipped) {
  Values weights = {1}, gradient = {100}, first = {0}, second = {0};
  AdamUpdate op;
  op.weights = vector(weights);
  op.gradients = vector(gradient);
  op.first_moment = vector(first);
  op.second_moment = vector(second);
  op.beta1 = 0.5f;
  adam_update(op);
  EXPECT_EQ(first, Values{50});
}

}  // namespace
}  // namespace strata::device::reference
