// Shared by gradient-bucket tests: gradients that every rank can recompute for all ranks, the plain
// definition of every clip mode, and an update that records its input.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/buckets/gradient_buckets.h"
#include "device/memory/buffer.h"
#include "loadbalance/random.h"
#include "tests/support/host_backend.h"

namespace strata::comm {

inline const std::vector<int64_t> kBoundaries = {0, 100, 350, 360, 1000, 1700, 2011};
constexpr int64_t kGradients = 2011;
constexpr int64_t kBucketElements = 300;

inline std::string name_of(ClipMode mode) {
  switch (mode) {
    case ClipMode::kNone:
      return "None";
    case ClipMode::kAfterAllReduce:
      return "AfterAllReduce";
    case ClipMode::kBeforeAllReduce:
      return "BeforeAllReduce";
    case ClipMode::kBucketBeforeAllReduce:
      return "BucketBeforeAllReduce";
  }
  return "";
}

// Returns the gradient of `rank` in micro-batch `micro_batch`. It is large enough that most parts
// are clipped.
inline std::vector<float> gradient_of(int rank, int step, int micro_batch = 0) {
  loadbalance::Random random(static_cast<uint64_t>(1000 * rank + 10 * step + micro_batch));
  std::vector<float> values(kGradients);
  for (int64_t i = 0; i < kGradients; ++i) {
    // Some buckets are small enough not to be clipped, and some ranks have larger gradients.
    const float size = (i < 400 ? 1e-3f : 1.0f) * static_cast<float>(rank + 1);
    values[i] = size * (static_cast<float>(random.below(1u << 20)) / (1 << 19) - 1.0f);
  }
  return values;
}

inline double norm_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

inline void clip_to(std::span<double> values, double max_norm) {
  const double scale = std::min(1.0, max_norm / norm_of(values));
  for (double& value : values) value *= scale;
}

// Returns the gradient that the optimizer must apply, by definition.
inline std::vector<double> expected_gradient(const std::vector<std::vector<double>>& ranks,
                                             ClipMode mode, double max_norm,
                                             const std::vector<Range>& buckets) {
  std::vector<double> mean(kGradients);
  for (std::vector<double> gradient : ranks) {
    if (mode == ClipMode::kBeforeAllReduce) clip_to(gradient, max_norm);
    if (mode == ClipMode::kBucketBeforeAllReduce) {
      for (const Range& bucket : buckets) {
        clip_to(std::span(gradient).subspan(bucket.begin, bucket.size()),
                max_norm / std::sqrt(static_cast<double>(buckets.size())));
      }
    }
    for (int64_t i = 0; i < kGradients; ++i) {
      mean[i] += gradient[i] / static_cast<double>(ranks.size());
    }
  }
  if (mode == ClipMode::kAfterAllReduce) clip_to(mean, max_norm);
  return mean;
}

// An arena of gradients and an update that records the gradient it should apply.
struct BucketStep {
  explicit BucketStep(device::DType master = device::DType::kF32, bool memory_is_host = true)
      : backend(master, memory_is_host), memory(backend, kGradients * size_of(master)) {}

  device::Tensor gradients() const {
    return {memory.data(), backend.master_dtype(), 1, kGradients};
  }

  // Stores the gradient of a micro-batch; the first of a step overwrites.
  void set(std::span<const float> gradient, bool accumulate = false) {
    for (int64_t i = 0; i < kGradients; ++i) {
      const double before = accumulate ? testing_support::element(gradients(), i) : 0.0;
      testing_support::set_element(gradients(), i, before + gradient[i]);
    }
  }

  GradientBuckets::Update update() {
    return [this](const ReducedGradients& reduced) {
      double scale = reduced.clip.scale;
      if (reduced.clip.norm_squared) {
        scale *= std::min(1.0, reduced.clip.max_norm / std::sqrt(*reduced.clip.norm_squared));
      }
      for (int64_t i = reduced.range.begin; i < reduced.range.end; ++i) {
        applied[i] += scale * testing_support::element(gradients(), i);
      }
    };
  }

  testing_support::HostBackend backend;
  device::Buffer memory;
  std::vector<double> applied = std::vector<double>(kGradients);
};

}  // namespace strata::comm
