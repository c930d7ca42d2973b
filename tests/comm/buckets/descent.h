// Plain gradient descent with gradient buckets on any backend. A backend whose work runs late must
// give the same weights, bit by bit, as one that works at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/buckets/gradient_buckets.h"
#include "device/graph_cache.h"
#include "device/memory/buffer.h"
#include "tests/comm/buckets/bucket_step.h"

namespace strata::comm {

constexpr int kDescentSteps = 4;

struct DescentCase {
  ClipMode clip;
  device::DType reduce_dtype;
  bool sharded;
  bool deferred = false;
};

// Runs plain gradient descent for kDescentSteps. With deferred updates, the length of a step
// depends on sums over all ranks. Weights are final after the streams are synchronized.
template <typename AnyBackend>
class Descent {
 public:
  using Enqueue = std::function<void(device::Stream, std::function<void()>)>;

  Descent(AnyBackend& backend, Communicator& world, const DescentCase& c, Enqueue enqueue)
      : backend_(backend),
        rank_(world.rank()),
        enqueue_(std::move(enqueue)),
        step_(backend, sizeof(int)),
        gradients_(backend, kGradients * sizeof(float)),
        weights_(backend, kGradients * sizeof(float)),
        sums_(backend, kSums * sizeof(double)),
        buckets_(
            backend, world, device::Tensor{gradients_.data(), device::DType::kF32, 1, kGradients},
            kBoundaries, options(c),
            [this, halves = c.deferred && world.size() > 1](const ReducedGradients& reduced) {
              halves ? add_up(reduced) : update(reduced);
            },
            deferred_update(c)) {}

  // `graphs` may be null. `check` is called for every issued step.
  std::vector<float> run(device::GraphCache* graphs = nullptr,
                         const std::function<void(const StepTimes&)>& check = {}) {
    for (int step = 0; step < kDescentSteps; ++step) {
      backend_.store(device::Stream::kCompute, step_.data(), &step, sizeof step);
      if (graphs) {
        graphs->run({}, [this] { issue_step(); });
      } else {
        const StepTimes times = issue_step();
        if (check) check(times);
      }
    }
    backend_.synchronize(device::Stream::kCompute);
    return {weights_.template as<float>(), weights_.template as<float>() + kGradients};
  }

  GradientBuckets& buckets() { return buckets_; }

 private:
  static constexpr int64_t kSums = 2;

  StepTimes issue_step() {
    backend_.fill_zero(device::Stream::kCompute, sums_.data(), sums_.bytes());
    for (size_t i = 1; i < kBoundaries.size(); ++i) {
      backward(kBoundaries[i - 1], kBoundaries[i]);
      buckets_.mark_ready(kBoundaries[i - 1], kBoundaries[i]);
    }
    return buckets_.finish_step();
  }

  BucketOptions options(const DescentCase& c) const {
    BucketOptions options{
        .clip = c.clip,
        .max_norm = 1.5f,
        .reduce_dtype = c.reduce_dtype,
        .bucket_bytes = kBucketElements * static_cast<int64_t>(size_of(c.reduce_dtype))};
    if (c.sharded) options.gathered_weights = {weights_.data(), device::DType::kF32, 1, kGradients};
    return options;
  }

  // Gradients depend on the weights, so that late updates are noticed.
  void backward(int64_t begin, int64_t end) {
    enqueue_(device::Stream::kCompute, [=, this] {
      const std::vector<float> fresh = gradient_of(rank_, *step_.template as<int>());
      for (int64_t i = begin; i < end; ++i) {
        gradients_.template as<float>()[i] =
            fresh[static_cast<size_t>(i)] + 0.5f * weights_.template as<float>()[i];
      }
    });
  }

  DeferredUpdate deferred_update(const DescentCase& c) {
    if (!c.deferred) return {};
    return {{sums_.data(), device::DType::kF64, 1, kSums},
            [this](const ReducedGradients& reduced) { finish(reduced); }};
  }

  static float scale_of(const ReducedGradients& reduced) {
    if (!reduced.clip.norm_squared) return reduced.clip.scale;
    return reduced.clip.scale *
           static_cast<float>(
               std::min(1.0, reduced.clip.max_norm / std::sqrt(*reduced.clip.norm_squared)));
  }

  // Adds to the sums of both kinds of elements.
  void add_up(const ReducedGradients& reduced) {
    enqueue_(reduced.stream, [=, this] {
      for (int64_t i = reduced.range.begin; i < reduced.range.end; ++i) {
        float& gradient = gradients_.template as<float>()[i];
        gradient *= scale_of(reduced);
        sums_.template as<double>()[i % kSums] += gradient * gradient;
      }
    });
  }
  void finish(const ReducedGradients& reduced) {
    enqueue_(reduced.stream, [=, this] {
      for (int64_t i = reduced.range.begin; i < reduced.range.end; ++i) {
        const float gradient = gradients_.template as<float>()[i];
        const auto length = static_cast<float>(std::sqrt(sums_.template as<double>()[i % kSums]));
        weights_.template as<float>()[i] -= 0.25f * gradient / (1 + length);
      }
    });
  }

  void update(const ReducedGradients& reduced) {
    enqueue_(reduced.stream, [=, this] {
      const float scale = scale_of(reduced);
      for (int64_t i = reduced.range.begin; i < reduced.range.end; ++i) {
        weights_.template as<float>()[i] -= 0.25f * scale * gradients_.template as<float>()[i];
      }
    });
  }

  AnyBackend& backend_;
  int rank_;
  Enqueue enqueue_;
  device::Buffer step_, gradients_, weights_, sums_;
  GradientBuckets buckets_;
};

inline std::vector<DescentCase> descent_cases() {
  using device::DType;
  std::vector<DescentCase> all;
  for (const ClipMode clip : {ClipMode::kNone, ClipMode::kAfterAllReduce,
                              ClipMode::kBeforeAllReduce, ClipMode::kBucketBeforeAllReduce}) {
    for (const DType reduce_dtype : {DType::kF32, DType::kBF16}) {
      for (const bool sharded : {false, true}) all.push_back({clip, reduce_dtype, sharded});
      all.push_back({clip, reduce_dtype, true, true});
    }
  }
  return all;
}

inline std::string name_of(const DescentCase& c) {
  return name_of(c.clip) + "_" + device::name_of(c.reduce_dtype) + (c.sharded ? "_sharded" : "") +
         (c.deferred ? "_in_halves" : "");
}

}  // namespace strata::comm
