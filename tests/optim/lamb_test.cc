#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"
#include "optim/optimizer.h"
#include "tests/support/elements.h"
#include "tests/support/matchers.h"

namespace strata::optim {
namespace {

using device::DType;
using device::Stream;
using device::Tensor;
using testing_support::element;
using testing_support::set_element;
using Values = std::vector<double>;

// tests/golden/optim/lamb.py: LAMB in f64 with numpy.
const nlohmann::json& golden() {
  static const auto json =
      nlohmann::json::parse(read_file(STRATA_SOURCE_DIR "/tests/golden/optim/lamb.json"));
  return json;
}

Values flat(const nlohmann::json& tensors) {
  Values values;
  for (const auto& tensor : tensors) {
    for (const double value : tensor) values.push_back(value);
  }
  return values;
}

std::vector<ParameterSegment> segments_of_golden() {
  std::vector<ParameterSegment> segments;
  int64_t offset = 0;
  for (size_t t = 0; t < golden()["weights"].size(); ++t) {
    const auto size = static_cast<int64_t>(golden()["weights"][t].size());
    segments.push_back({offset, size, golden()["decay"][t]});
    offset += size;
  }
  return segments;
}

class Lamb : public testing::Test {
 protected:
  Tensor tensor(const device::Buffer& buffer) const {
    return {buffer.data(), DType::kF64, 1, size_};
  }

  void set(const Tensor& tensor, const Values& values) {
    for (int64_t i = 0; i < size_; ++i) set_element(tensor, i, values[static_cast<size_t>(i)]);
  }

  Values values(const Tensor& tensor) const {
    Values result;
    for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(element(tensor, i));
    return result;
  }

  std::unique_ptr<Optimizer> make() {
    const auto& s = golden()["settings"];
    return make_lamb(backend_, arena_, segments_of_golden(),
                     {s["beta1"], s["beta2"], s["epsilon"], s["weight_decay"]});
  }

  device::GradientClip clip() const {
    const auto& s = golden()["settings"];
    return {.scale = s["gradient_scale"],
            .norm_squared = norm_.as<double>(),
            .max_norm = s["max_norm"]};
  }

  // Runs all golden steps, each in these ranges, and returns the weights after each.
  std::vector<Values> train(const std::vector<Range>& ranges) {
    set(arena_.weights.memory(), flat(golden()["weights"]));
    const auto lamb = make();
    std::vector<Values> result;
    for (size_t step = 1; step <= golden()["steps"].size(); ++step) {
      set(arena_.gradients.memory(), flat(golden()["steps"][step - 1]["gradients"]));
      *norm_.as<double>() = 0;
      backend_.l2_norm_squared(Stream::kCompute, {arena_.gradients.memory(), norm_.as<double>()});
      lamb->begin_step(Stream::kCompute, static_cast<int64_t>(step),
                       golden()["steps"][step - 1]["rate"]);
      for (const Range& range : ranges) {
        lamb->update(Stream::kCompute, range, clip());
      }
      result.push_back(values(arena_.weights.memory()));
      EXPECT_EQ(values(arena_.compute_weights.memory()), result.back());
    }
    return result;
  }

  void expect_golden(const std::vector<Values>& weights) const {
    for (size_t step = 0; step < weights.size(); ++step) {
      const Values expected = flat(golden()["steps"][step]["weights"]);
      for (size_t i = 0; i < expected.size(); ++i) {
        // The rates, betas and epsilon are rounded to float.
        ASSERT_NEAR(weights[step][i], expected[i], 1e-7) << "step " << step + 1 << ", " << i;
      }
    }
  }

  const int64_t size_ = segments_of_golden().back().offset + segments_of_golden().back().size;
  std::unique_ptr<device::Backend> reference_ =
      device::make_backend({.name = "reference", .compute_dtype = DType::kF64});
  device::Backend& backend_ = *reference_;
  const size_t bytes_ = static_cast<size_t>(size_) * sizeof(double);
  device::Buffer weights_{backend_, bytes_}, compute_weights_{backend_, bytes_},
      gradients_{backend_, bytes_}, norm_{backend_, sizeof(double)};
  ParameterArena arena_{tensor(weights_), tensor(compute_weights_), tensor(gradients_)};
};

TEST_F(Lamb, EqualsThePaperTensorByTensor) { expect_golden(train({{0, size_}})); }

TEST_F(Lamb, RangesMayCutTensorsAndComeInAnyOrder) {
  expect_golden(
      train({{340, 500}, {0, 1}, {299, 340}, {520, size_}, {100, 299}, {1, 100}, {500, 520}}));
}

// Before the last range, the norm of the tensor's direction is unknown.
TEST_F(Lamb, ATensorIsUpdatedWithItsLastRange) {
  set(arena_.weights.memory(), flat(golden()["weights"]));
  set(arena_.gradients.memory(), flat(golden()["steps"][0]["gradients"]));
  const auto lamb = make();
  lamb->begin_step(Stream::kCompute, 1, 0.1);
  lamb->update(Stream::kCompute, {0, 200}, {});
  EXPECT_EQ(values(arena_.weights.memory()), flat(golden()["weights"]));
  lamb->update(Stream::kCompute, {200, 300}, {});
  EXPECT_NE(element(arena_.weights.memory(), 0), golden()["weights"][0][0]);
  EXPECT_NE(element(arena_.weights.memory(), 299), golden()["weights"][0][299]);
  EXPECT_EQ(element(arena_.weights.memory(), 300), golden()["weights"][1][0]);
}

// Two ranks take turns on one arena; each has moments only for its own ranges.
TEST_F(Lamb, RanksWithPartsOfTensorsUpdateThemTogether) {
  const std::vector<std::vector<Range>> owned = {{{0, 150}, {310, 400}},
                                                 {{150, 310}, {400, size_}}};
  const auto& s = golden()["settings"];
  std::vector<std::unique_ptr<Optimizer>> ranks;
  for (const auto& ranges : owned) {
    ranks.push_back(make_lamb(backend_, arena_, segments_of_golden(),
                              {s["beta1"], s["beta2"], s["epsilon"], s["weight_decay"]}, ranges));
    EXPECT_GT(ranks.back()->partial_sums().size(), 2);
  }
  EXPECT_FALSE(make()->partial_sums());
  set(arena_.weights.memory(), flat(golden()["weights"]));
  std::vector<Values> result;
  for (size_t step = 1; step <= golden()["steps"].size(); ++step) {
    const auto& given = golden()["steps"][step - 1];
    set(arena_.gradients.memory(), flat(given["gradients"]));
    *norm_.as<double>() = 0;
    backend_.l2_norm_squared(Stream::kCompute, {arena_.gradients.memory(), norm_.as<double>()});
    for (size_t rank = 0; rank < 2; ++rank) {
      ranks[rank]->begin_step(Stream::kCompute, static_cast<int64_t>(step), given["rate"]);
      for (const Range& range : owned[rank]) {
        ranks[rank]->update(Stream::kCompute, range, clip());
      }
    }
    const Tensor a = ranks[0]->partial_sums(), b = ranks[1]->partial_sums();
    for (int64_t i = 0; i < a.size(); ++i) {
      const double sum = element(a, i) + element(b, i);
      set_element(a, i, sum);
      set_element(b, i, sum);
    }
    for (size_t rank = 0; rank < 2; ++rank) {
      for (const Range& range : owned[rank]) {
        ranks[rank]->finish(Stream::kCompute, range);
      }
    }
    result.push_back(values(arena_.weights.memory()));
    EXPECT_EQ(values(arena_.compute_weights.memory()), result.back());
  }
  expect_golden(result);
}

TEST_F(Lamb, StateIsBothMoments) {
  const auto lamb = make();
  set_element(arena_.gradients.memory(), 3, 2.0);
  lamb->begin_step(Stream::kCompute, 1, 0.1);
  lamb->update(Stream::kCompute, {0, size_}, {});
  const auto state = lamb->state();
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].name, "adam_m");
  EXPECT_EQ(state[1].name, "adam_v");
  EXPECT_NEAR(element(state[0].tensor, 3), 0.4, 1e-7);
  EXPECT_NEAR(element(state[1].tensor, 3), 0.4, 1e-7);
}

TEST_F(Lamb, HyperParametersOutsideTheirRangeAreNamed) {
  try {
    make_lamb(backend_, arena_, segments_of_golden(), {.beta2 = -1});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("LAMB's beta2 is -1"));
  }
}

}  // namespace
}  // namespace strata::optim
