// Runs of tests/golden/optim/elementwise.py over an arena of doubles.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"
#include "optim/optimizer.h"
#include "tests/support/elements.h"

namespace strata::optim {

class GoldenRun : public testing::Test {
 protected:
  using Values = std::vector<double>;

  explicit GoldenRun(const char* file)
      : golden_(nlohmann::json::parse(
            read_file(std::string(STRATA_SOURCE_DIR "/tests/golden/optim/") + file))) {
    for (const auto& segment : golden_["segments"]) {
      segments_.push_back({size(), segment[0], segment[1]});
    }
    for (device::Buffer* buffer : {&weights_, &compute_weights_, &gradients_}) {
      *buffer = device::Buffer(backend_, static_cast<size_t>(size()) * sizeof(double));
    }
    arena_ = {tensor(weights_), tensor(compute_weights_), tensor(gradients_)};
  }

  int64_t size() const {
    return segments_.empty() ? 0 : segments_.back().offset + segments_.back().size;
  }
  const nlohmann::json& settings() const { return golden_["settings"]; }
  Values expected(size_t run, size_t step) const {
    return golden_["runs"][run]["steps"][step].get<Values>();
  }
  size_t steps() const { return golden_["rates"].size(); }

  Values weights() const {
    const device::Tensor& tensor = arena_.weights.memory();
    Values values;
    for (int64_t i = 0; i < size(); ++i) values.push_back(testing_support::element(tensor, i));
    return values;
  }
  void start() { set(arena_.weights.memory(), golden_["weights"].get<Values>()); }

  // Runs step `step`, counted from 0, with every optimizer on its own ranges.
  void take_step(size_t step, const std::vector<Optimizer*>& ranks,
                 const std::vector<std::vector<Range>>& ranges) {
    set(arena_.gradients.memory(), golden_["gradients"][step].get<Values>());
    *norm_.as<double>() = 0;
    backend_.l2_norm_squared(device::Stream::kCompute,
                             {arena_.gradients.memory(), norm_.as<double>()});
    const device::GradientClip clip{.scale = settings()["gradient_scale"],
                                    .norm_squared = norm_.as<double>(),
                                    .max_norm = settings()["max_norm"]};
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank]->begin_step(device::Stream::kCompute, static_cast<int64_t>(step) + 1,
                              golden_["rates"][step]);
      for (const Range& range : ranges[rank]) {
        ranks[rank]->update(device::Stream::kCompute, range, clip);
      }
    }
  }

  // Returns the weights after every step.
  std::vector<Values> train(const std::vector<Optimizer*>& ranks,
                            const std::vector<std::vector<Range>>& ranges) {
    start();
    std::vector<Values> result;
    for (size_t step = 0; step < steps(); ++step) {
      take_step(step, ranks, ranges);
      result.push_back(weights());
      for (int64_t i = 0; i < size(); ++i) {
        EXPECT_EQ(testing_support::element(arena_.compute_weights.memory(), i), result.back()[i]);
      }
    }
    return result;
  }

  // The rates and the options are rounded to float.
  void expect_golden(const std::vector<Values>& weights, size_t run, double bound) const {
    for (size_t step = 0; step < weights.size(); ++step) {
      const Values wanted = expected(run, step);
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(weights[step][i], wanted[i], bound) << "step " << step + 1 << ", " << i;
      }
    }
  }

  std::unique_ptr<device::Backend> reference_ =
      device::make_backend({.name = "reference", .compute_dtype = device::DType::kF64});
  device::Backend& backend_ = *reference_;
  nlohmann::json golden_;
  std::vector<ParameterSegment> segments_;
  device::Buffer weights_, compute_weights_, gradients_, norm_{backend_, sizeof(double)};
  ParameterArena arena_;

 private:
  device::Tensor tensor(const device::Buffer& buffer) const {
    return {buffer.data(), device::DType::kF64, 1, size()};
  }
  void set(const device::Tensor& tensor, const Values& values) const {
    for (int64_t i = 0; i < size(); ++i) {
      testing_support::set_element(tensor, i, values[static_cast<size_t>(i)]);
    }
  }
};

}  // namespace strata::optim
