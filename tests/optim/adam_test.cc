#include <fstream>
#include <sstream>

#include "base/error.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"
#include "optim/optimizer.h"
#include "tests/support/elements.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::optim {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;
using testing_support::element;
using testing_support::set_element;

// The same as in tests/golden/optim/adam.py.
constexpr double kLearningRates[] = {1e-3, 2e-3, 3e-3, 2e-3, 1e-3};
const AdamOptions kOptions{0.8, 0.9, 1e-9, 0.01};

struct GoldenElement {
  bool decay;
  double initial;
  double gradients[5];
  double final_weight;
};

std::vector<GoldenElement> read_golden() {
  std::ifstream file(STRATA_SOURCE_DIR "/tests/golden/optim/adam.csv");
  std::vector<GoldenElement> elements;
  for (std::string line; std::getline(file, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    GoldenElement e;
    row >> e.decay >> e.initial;
    for (double& gradient : e.gradients) row >> gradient;
    row >> e.final_weight;
    elements.push_back(e);
  }
  return elements;
}

class Adam : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(golden_.size(), 100u); }

  Tensor tensor(const device::Buffer& buffer, DType dtype) const {
    return {buffer.data(), dtype, 1, 100};
  }

  // One segment per element, so that nothing is merged.
  std::vector<ParameterSegment> segments() const {
    std::vector<ParameterSegment> result;
    for (size_t i = 0; i < golden_.size(); ++i) {
      result.push_back({static_cast<int64_t>(i), 1, golden_[i].decay});
    }
    return result;
  }

  // Runs the five golden steps, each cut into ranges at `cuts`, and returns the weights.
  std::vector<double> train(const std::vector<int64_t>& cuts) {
    for (int64_t i = 0; i < 100; ++i) set_element(arena_.weights.memory(), i, golden_[i].initial);
    const auto adam = make_adam(backend_, arena_, segments(), kOptions);
    for (int step = 1; step <= 5; ++step) {
      for (int64_t i = 0; i < 100; ++i) {
        set_element(arena_.gradients.memory(), i, golden_[i].gradients[step - 1]);
      }
      *norm_.as<double>() = 0;
      backend_.l2_norm_squared(Stream::kCompute, {arena_.gradients.memory(), norm_.as<double>()});
      adam->begin_step(Stream::kCompute, step, kLearningRates[step - 1]);
      for (size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
        adam->update(Stream::kCompute, {cuts[cut], cuts[cut + 1]},
                     {.scale = 0.5f, .norm_squared = norm_.as<double>(), .max_norm = 2.0f});
      }
    }
    std::vector<double> result(100);
    for (int64_t i = 0; i < 100; ++i) result[i] = element(arena_.weights.memory(), i);
    return result;
  }

  std::unique_ptr<device::Backend> reference_ =
      device::make_backend({.name = "reference", .compute_dtype = DType::kF64});
  device::Backend& backend_ = *reference_;
  std::vector<GoldenElement> golden_ = read_golden();
  device::Buffer weights_{backend_, 800}, compute_weights_{backend_, 800},
      gradients_{backend_, 800}, norm_{backend_, 8};
  ParameterArena arena_{tensor(weights_, DType::kF64), tensor(compute_weights_, DType::kF64),
                        tensor(gradients_, DType::kF64)};
};

TEST_F(Adam, EqualsPyTorchWithDecayOnlyWhereItBelongs) {
  const std::vector<double> weights = train({0, 100});
  for (int64_t i = 0; i < 100; ++i) {
    // The rates and betas are rounded to float.
    EXPECT_NEAR(weights[i], golden_[i].final_weight, 1e-8) << i;
    EXPECT_EQ(element(arena_.compute_weights.memory(), i), weights[i]);
  }
}

TEST_F(Adam, RangesThatCutSegmentsGiveTheSameBits) {
  const std::vector<double> whole = train({0, 100});
  EXPECT_EQ(train({0, 1, 36, 37, 39, 41, 42, 60, 99, 100}), whole);
}

TEST_F(Adam, StateIsBothMoments) {
  const auto first = make_adam(backend_, arena_, segments(), kOptions);
  const auto state = first->state();
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].name, "adam_m");
  EXPECT_EQ(state[1].name, "adam_v");
  set_element(arena_.gradients.memory(), 3, 2.0);
  first->begin_step(Stream::kCompute, 1, 0.1);
  first->update(Stream::kCompute, {0, 100}, {});
  EXPECT_NEAR(element(first->state()[0].tensor, 3), 0.4, 1e-7);
  EXPECT_NEAR(element(first->state()[1].tensor, 3), 0.4, 1e-7);
}

TEST_F(Adam, OwnedRangesGiveTheSameBitsFromTheirMomentsAlone) {
  const auto whole = make_adam(backend_, arena_, segments(), kOptions);
  for (int64_t i = 0; i < 100; ++i) set_element(arena_.weights.memory(), i, golden_[i].initial);
  for (int64_t i = 0; i < 100; ++i) set_element(arena_.gradients.memory(), i, 0.5 + i);
  whole->begin_step(Stream::kCompute, 1, 0.1);
  whole->update(Stream::kCompute, {0, 100}, {});
  const auto whole_state = whole->state();
  std::vector<double> weights;
  for (int64_t i = 0; i < 100; ++i) weights.push_back(element(arena_.weights.memory(), i));

  for (int64_t i = 0; i < 100; ++i) set_element(arena_.weights.memory(), i, golden_[i].initial);
  const std::vector<Range> owned = {{10, 30}, {30, 30}, {45, 60}};
  const auto part = make_adam(backend_, arena_, segments(), kOptions, owned);
  for (int64_t i = 0; i < 100; ++i) set_element(arena_.gradients.memory(), i, 0.5 + i);
  part->begin_step(Stream::kCompute, 1, 0.1);
  part->update(Stream::kCompute, {45, 60}, {});
  part->update(Stream::kCompute, {10, 20}, {});
  part->update(Stream::kCompute, {20, 30}, {});
  ASSERT_EQ(part->state()[0].tensor.size(), 35);
  int64_t place = 0;
  for (const Range& range : owned) {
    for (int64_t i = range.begin; i < range.end; ++i, ++place) {
      EXPECT_EQ(element(arena_.weights.memory(), i), weights[static_cast<size_t>(i)]) << i;
      EXPECT_EQ(element(part->state()[1].tensor, place), element(whole_state[1].tensor, i)) << i;
    }
  }
  EXPECT_THROW(part->update(Stream::kCompute, {25, 31}, {}), Error);
  EXPECT_THROW(part->update(Stream::kCompute, {0, 5}, {}), Error);
  EXPECT_THROW(part->update(Stream::kCompute, {60, 61}, {}), Error);
}

// A rank keeps only its shards of weights and gradients, one after another.
TEST_F(Adam, ArenasOfShardsAreUpdatedInPlace) {
  const auto whole = make_adam(backend_, arena_, segments(), kOptions);
  for (int64_t i = 0; i < 100; ++i) set_element(arena_.weights.memory(), i, golden_[i].initial);
  for (int64_t i = 0; i < 100; ++i) set_element(arena_.gradients.memory(), i, 0.5 + i);
  const std::vector<Range> owned = {{10, 30}, {45, 60}};
  const device::Buffer memory(backend_, 2 * 35 * sizeof(double));
  const device::Tensor weights{memory.data(), DType::kF64, 1, 35},
      gradients{memory.as<double>() + 35, DType::kF64, 1, 35};
  int64_t place = 0;
  for (const Range& range : owned) {
    for (int64_t i = range.begin; i < range.end; ++i, ++place) {
      set_element(weights, place, golden_[i].initial);
      set_element(gradients, place, 0.5 + i);
    }
  }
  const ParameterArena shards{device::Arena(weights, 100, device::packed(owned)),
                              {},
                              device::Arena(gradients, 100, device::packed(owned))};
  const auto part = make_adam(backend_, shards, segments(), kOptions, owned);
  for (Optimizer* adam : {whole.get(), part.get()}) {
    adam->begin_step(Stream::kCompute, 1, 0.1);
    for (const Range& range : owned) adam->update(Stream::kCompute, range, {});
  }
  place = 0;
  for (const Range& range : owned) {
    for (int64_t i = range.begin; i < range.end; ++i, ++place) {
      EXPECT_EQ(element(weights, place), element(arena_.weights.memory(), i)) << i;
    }
  }
  EXPECT_THROW(part->update(Stream::kCompute, {25, 31}, {}), Error);
}

// An update before begin_step() would use another step's corrections and rate.
TEST_F(Adam, NothingIsUpdatedBeforeAStepBegins) {
  const auto adam = make_adam(backend_, arena_, segments(), kOptions);
  EXPECT_THROW(adam->update(Stream::kCompute, {0, 100}, {}), Error);
}

TEST_F(Adam, SegmentsMustCoverTheArena) {
  const std::vector<ParameterSegment> gap = {{0, 50, true}, {51, 49, true}};
  const std::vector<ParameterSegment> small = {{0, 99, true}};
  EXPECT_THROW(make_adam(backend_, arena_, gap, kOptions), Error);
  EXPECT_THROW(make_adam(backend_, arena_, small, kOptions), Error);
}

TEST_F(Adam, TensorsOfTheArenaMustBeEquallyLong) {
  const auto error_of = [&](const ParameterArena& arena) {
    return testing_support::error_of([&] { make_adam(backend_, arena, segments(), kOptions); });
  };
  Tensor short_one = arena_.gradients.memory();
  short_one.cols = 99;
  EXPECT_NO_THROW(make_adam(backend_, arena_, segments(), kOptions));
  EXPECT_THAT(error_of({arena_.weights, {}, short_one}), HasSubstr("99 gradients"));
  EXPECT_THAT(error_of({arena_.weights, arena_.weights, short_one}), HasSubstr("99 gradients"));
  EXPECT_THAT(error_of({arena_.weights, short_one, arena_.gradients}),
              HasSubstr("99 compute weights"));
}

TEST_F(Adam, HyperParametersOutsideTheirRangeAreNamed) {
  try {
    make_adam(backend_, arena_, segments(), {.beta1 = 1.0});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("beta1 is 1"));
  }
}

}  // namespace
}  // namespace strata::optim
