#include "base/error.h"
#include "tests/optim/golden_run.h"
#include "tests/support/error_of.h"

namespace strata::optim {
namespace {

class Madgrad : public GoldenRun {
 protected:
  Madgrad() : GoldenRun("madgrad.json") {}

  std::unique_ptr<Optimizer> make(std::span<const Range> owned = {}) {
    return make_madgrad(backend_, arena_, segments_,
                        {settings()["momentum"], settings()["epsilon"], settings()["weight_decay"]},
                        owned);
  }
};

TEST_F(Madgrad, EqualsItsAuthorsPackage) {
  const auto madgrad = make();
  expect_golden(train({madgrad.get()}, {{{0, size()}}}), 0, 1e-7);
}

TEST_F(Madgrad, RangesThatCutSegmentsGiveTheSameBits) {
  const auto whole = make(), cut = make();
  const auto expected = train({whole.get()}, {{{0, size()}}});
  EXPECT_EQ(train({cut.get()}, {{{170, 300}, {0, 1}, {1, 170}}}), expected);
}

TEST_F(Madgrad, RanksWithStateOfTheirRangesAloneGiveTheSameBits) {
  const std::vector<std::vector<Range>> owned = {{{0, 150}, {200, 230}}, {{150, 200}, {230, 300}}};
  const auto whole = make(), first = make(owned[0]), second = make(owned[1]);
  const auto expected = train({whole.get()}, {{{0, size()}}});
  EXPECT_EQ(train({first.get(), second.get()}, owned), expected);
  EXPECT_EQ(first->state()[2].tensor.size(), 180);
  EXPECT_THROW(take_step(0, {first.get()}, {{{140, 151}}}), Error);
}

TEST_F(Madgrad, StateIsBothSumsAndTheWeightsOfTheStart) {
  const auto madgrad = make();
  start();
  const Values initial = weights();
  take_step(0, {madgrad.get()}, {{{0, size()}}});
  take_step(1, {madgrad.get()}, {{{0, size()}}});
  const auto state = madgrad->state();
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state[0].name, "madgrad_s");
  EXPECT_EQ(state[1].name, "madgrad_v");
  EXPECT_EQ(state[2].name, "madgrad_w0");
  EXPECT_NE(weights(), initial);
  for (int64_t i = 0; i < size(); ++i) {
    EXPECT_EQ(testing_support::element(state[2].tensor, i), initial[static_cast<size_t>(i)]);
  }
}

// A layer that the first step skipped still starts from its weights at that time.
TEST_F(Madgrad, ElementsMayBeUpdatedFirstInALaterStep) {
  const auto madgrad = make();
  start();
  const Values initial = weights();
  take_step(0, {madgrad.get()}, {{{0, 100}}});
  take_step(1, {madgrad.get()}, {{{0, size()}}});
  for (int64_t i = 100; i < size(); ++i) {
    EXPECT_EQ(testing_support::element(madgrad->state()[2].tensor, i),
              initial[static_cast<size_t>(i)]);
  }
}

TEST_F(Madgrad, OptionsOutsideTheirRangeAreNamed) {
  const auto error = [&](const MadgradOptions& options) {
    return testing_support::error_of([&] { make_madgrad(backend_, arena_, segments_, options); });
  };
  EXPECT_EQ(error({.momentum = 1}), "MADGRAD's momentum is 1: it must be at least 0 and below 1");
  EXPECT_EQ(error({.epsilon = 0}), "MADGRAD's epsilon is 0: it must be above 0");
  EXPECT_EQ(error({.weight_decay = -1}), "MADGRAD's weight_decay is -1: it must be at least 0");
}

}  // namespace
}  // namespace strata::optim
