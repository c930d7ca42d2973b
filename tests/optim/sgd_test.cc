#include "base/error.h"
#include "tests/optim/golden_run.h"
#include "tests/support/error_of.h"

namespace strata::optim {
namespace {

class Sgd : public GoldenRun {
 protected:
  Sgd() : GoldenRun("sgd.json") {}

  std::unique_ptr<Optimizer> make(size_t run = 0, std::span<const Range> owned = {}) {
    return make_sgd(backend_, arena_, segments_,
                    {golden_["runs"][run]["momentum"], settings()["weight_decay"]}, owned);
  }
};

TEST_F(Sgd, EqualsPyTorchWithAndWithoutMomentum) {
  ASSERT_EQ(golden_["runs"].size(), 2u);
  for (size_t run = 0; run < golden_["runs"].size(); ++run) {
    SCOPED_TRACE(golden_["runs"][run]["momentum"].get<double>());
    const auto sgd = make(run);
    expect_golden(train({sgd.get()}, {{{0, size()}}}), run, 1e-7);
  }
  EXPECT_NE(expected(0, 4), expected(1, 4));
}

TEST_F(Sgd, RangesAndRanksGiveTheSameBits) {
  const std::vector<std::vector<Range>> owned = {{{0, 150}, {200, 230}}, {{150, 200}, {230, 300}}};
  const auto whole = make(), cut = make(), first = make(0, owned[0]), second = make(0, owned[1]);
  const auto expected = train({whole.get()}, {{{0, size()}}});
  EXPECT_EQ(train({cut.get()}, {{{170, 300}, {0, 1}, {1, 170}}}), expected);
  EXPECT_EQ(train({first.get(), second.get()}, owned), expected);
  EXPECT_EQ(first->state()[0].tensor.size(), 180);
  EXPECT_THROW(take_step(0, {first.get()}, {{{140, 151}}}), Error);
}

TEST_F(Sgd, StateIsTheVelocity) {
  const auto sgd = make();
  start();
  sgd->begin_step(device::Stream::kCompute, 1, 0.1);
  const double weight = weights()[3];
  testing_support::set_element(arena_.gradients.memory(), 3, 2.0);
  sgd->update(device::Stream::kCompute, {0, size()}, {});
  const auto state = sgd->state();
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state[0].name, "sgd_v");
  const double velocity = 2 + settings()["weight_decay"].get<double>() * weight;
  EXPECT_NEAR(testing_support::element(state[0].tensor, 3), velocity, 1e-7);
}

TEST_F(Sgd, OptionsOutsideTheirRangeAreNamed) {
  const auto error = [&](const SgdOptions& options) {
    return testing_support::error_of([&] { make_sgd(backend_, arena_, segments_, options); });
  };
  EXPECT_EQ(error({.momentum = 1}), "SGD's momentum is 1: it must be at least 0 and below 1");
  EXPECT_EQ(error({.weight_decay = -1}), "SGD's weight_decay is -1: it must be at least 0");
}

}  // namespace
}  // namespace strata::optim
