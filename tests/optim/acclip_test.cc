#include "base/error.h"
#include "tests/optim/golden_run.h"
#include "tests/support/error_of.h"

namespace strata::optim {
namespace {

class AcClip : public GoldenRun {
 protected:
  AcClip() : GoldenRun("acclip.json") {}

  std::unique_ptr<Optimizer> make(size_t run = 0, std::span<const Range> owned = {}) {
    const auto& s = settings();
    return make_acclip(
        backend_, arena_, segments_,
        {{s["beta1"], s["beta2"], s["epsilon"], s["weight_decay"]}, golden_["runs"][run]["alpha"]},
        owned);
  }
};

TEST_F(AcClip, FollowsThePaperForEveryAlpha) {
  ASSERT_EQ(golden_["runs"].size(), 3u);
  for (size_t run = 0; run < golden_["runs"].size(); ++run) {
    SCOPED_TRACE(golden_["runs"][run]["alpha"].get<double>());
    const auto acclip = make(run);
    expect_golden(train({acclip.get()}, {{{0, size()}}}), run, 1e-8);
  }
  EXPECT_NE(expected(0, 4), expected(2, 4));
}

TEST_F(AcClip, RangesAndRanksGiveTheSameBits) {
  const std::vector<std::vector<Range>> owned = {{{0, 150}, {200, 230}}, {{150, 200}, {230, 300}}};
  const auto whole = make(), cut = make(), first = make(0, owned[0]), second = make(0, owned[1]);
  const auto expected = train({whole.get()}, {{{0, size()}}});
  EXPECT_EQ(train({cut.get()}, {{{170, 300}, {0, 1}, {1, 170}}}), expected);
  EXPECT_EQ(train({first.get(), second.get()}, owned), expected);
  EXPECT_EQ(first->state()[1].tensor.size(), 180);
  EXPECT_THROW(take_step(0, {first.get()}, {{{140, 151}}}), Error);
}

TEST_F(AcClip, StateIsTheMomentAndThePowerOfTheThreshold) {
  const auto acclip = make(2);  // run with alpha 2
  start();
  acclip->begin_step(device::Stream::kCompute, 1, 0.1);
  testing_support::set_element(arena_.gradients.memory(), 3, 2.0);
  acclip->update(device::Stream::kCompute, {0, size()}, {});
  const auto state = acclip->state();
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].name, "acclip_m");
  EXPECT_EQ(state[1].name, "acclip_tau");
  EXPECT_NEAR(testing_support::element(state[0].tensor, 3), 0.4, 1e-7);
  EXPECT_NEAR(testing_support::element(state[1].tensor, 3), 0.4, 1e-7);
}

TEST_F(AcClip, OptionsOutsideTheirRangeAreNamed) {
  const auto error = [&](const AcClipOptions& options) {
    return testing_support::error_of([&] { make_acclip(backend_, arena_, segments_, options); });
  };
  EXPECT_EQ(error({{.beta1 = 1}, 1}), "ACClip's beta1 is 1: it must be at least 0 and below 1");
  EXPECT_EQ(error({{}, 0.5}), "ACClip's alpha is 0.5: it must be from 1 to 2");
  EXPECT_EQ(error({{}, 2.5}), "ACClip's alpha is 2.5: it must be from 1 to 2");
}

}  // namespace
}  // namespace strata::optim
