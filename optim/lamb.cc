// LAMB, tensor by tensor: a range's direction is computed as soon as its gradients come, and takes
// their place; a tensor is updated when the last of its ranges has come, from whichever rank.
#include "device/buffer.h"
#include "optim/moments.h"
#include "optim/segments.h"

namespace strata::optim {
namespace {

using device::LambNorms;
using device::Stream;

struct LambSegment : Segment {
  LambNorms* norms = nullptr;  // device memory
  int64_t pending = 0;         // elements whose direction this step has yet to compute
};

// Whoever says when a tensor's directions are complete.
class Lamb : public Optimizer {
 public:
  Lamb(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
       const AdamOptions& options, std::span<const Range> owned)
      : backend_(backend), moments_(backend, arena, options, "LAMB", owned) {
    // Without decay there is no trust ratio of a tensor's own.
    const std::vector<Segment> ours = merged(segments, MergedSegments::kWithoutDecay);
    norms_ = device::Buffer(backend, ours.size() * sizeof(LambNorms));
    for (const Segment& segment : ours) {
      segments_.push_back({segment, norms_.as<LambNorms>() + segments_.size(), segment.size});
    }
  }

  void begin_step(Stream stream, int64_t step, double learning_rate) override {
    moments_.begin_step(stream, step, learning_rate);
  }

  void update(Stream stream, const Range& range, const device::GradientClip& clip) override {
    for_each_part(segments_, range, [&](LambSegment& segment, const Range& part) {
      const device::AdamUpdate adam = moments_.adam_update(part, segment.decay, clip);
      if (segment.decay) {
        add_part(stream, segment, part, adam);
      } else {
        backend_.adam_update(stream, adam);  // trust ratio 1
      }
    });
  }

  std::vector<device::StateTensor> state() override { return moments_.state(); }

 protected:
  // Of the arena elements `part`, whose Adam's update would be `adam`.
  virtual void add_part(Stream stream, LambSegment& segment, const Range& part,
                        const device::AdamUpdate& adam) = 0;

  void compute_direction(Stream stream, const LambSegment& segment, const Range& part,
                         const device::AdamUpdate& adam) {
    const device::Tensor gradients = elements_of(moments_.arena().gradients, part);
    backend_.lamb_direction(stream, {.weights = adam.weights,
                                     .gradients = gradients,
                                     .first_moment = adam.first_moment,
                                     .second_moment = adam.second_moment,
                                     .corrections = adam.corrections,
                                     .beta1 = adam.beta1,
                                     .beta2 = adam.beta2,
                                     .epsilon = adam.epsilon,
                                     .weight_decay = adam.weight_decay,
                                     .clip = adam.clip,
                                     .norms = segment.norms});
  }

  // Of the arena elements `part`, which lie in the segment.
  void apply(Stream stream, const LambSegment& segment, const Range& part) {
    const ParameterArena& arena = moments_.arena();
    backend_.lamb_apply(stream, {.weights = elements_of(arena.weights, part),
                                 .compute_weights = elements_of(arena.compute_weights, part),
                                 .directions = elements_of(arena.gradients, part),
                                 .norms = segment.norms,
                                 .learning_rate = moments_.learning_rate()});
  }

  device::Backend& backend_;
  Moments moments_;
  device::Buffer norms_;  // [segments] LambNorms
  std::vector<LambSegment> segments_;
};

// One rank has all parts of a tensor.
class WholeLamb final : public Lamb {
 public:
  using Lamb::Lamb;

 private:
  void add_part(Stream stream, LambSegment& segment, const Range& part,
                const device::AdamUpdate& adam) override {
    if (segment.pending == segment.size) {
      backend_.fill_zero(stream, segment.norms, sizeof(LambNorms));
    }
    compute_direction(stream, segment, part, adam);
    segment.pending -= part.size();
    if (segment.pending > 0) return;
    apply(stream, segment, {segment.offset, segment.offset + segment.size});
    segment.pending = segment.size;
  }
};

// Ranks have parts of it.
class ShardedLamb final : public Lamb {
 public:
  using Lamb::Lamb;

  void begin_step(Stream stream, int64_t step, double learning_rate) override {
    Lamb::begin_step(stream, step, learning_rate);
    backend_.fill_zero(stream, norms_.data(), norms_.bytes());
  }

  device::Tensor partial_sums() const override {
    constexpr int64_t kSums = sizeof(LambNorms) / sizeof(double);
    return {norms_.data(), device::DType::kF64, 1, kSums * std::ssize(segments_)};
  }

  void finish(Stream stream, const Range& range) override {
    for_each_part(segments_, range, [&](LambSegment& segment, const Range& part) {
      if (segment.decay) apply(stream, segment, part);
    });
  }

 private:
  void add_part(Stream stream, LambSegment& segment, const Range& part,
                const device::AdamUpdate& adam) override {
    compute_direction(stream, segment, part, adam);
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const Segment> segments, const AdamOptions& options,
                                     std::span<const Range> owned) {
  check_segments(segments, arena.weights.size());
  if (owned.empty()) return std::make_unique<WholeLamb>(backend, arena, segments, options, owned);
  return std::make_unique<ShardedLamb>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
