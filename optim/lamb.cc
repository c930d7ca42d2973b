// LAMB, tensor by tensor: a range's direction is computed as soon as its gradients come, and takes
// their place; a tensor is updated when the last of its ranges has come, from whichever rank.
#include "optim/moments.h"
#include "optim/optimizer.h"

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

  void update(Stream stream, int64_t begin, int64_t end, const UpdateOptions& options) override {
    for_each_part(segments_, begin, end, [&](LambSegment& segment, int64_t from, int64_t to) {
      const device::AdamUpdate adam = moments_.adam_update(from, to, segment.decay, options);
      if (segment.decay) {
        add_part(stream, segment, {from, to}, adam);
      } else {
        backend_.adam_update(stream, adam);  // trust ratio 1
      }
    });
  }

  std::vector<OptimizerState> state() override { return moments_.state(); }

 protected:
  // Of the arena elements `part`, whose Adam's update would be `adam`.
  virtual void add_part(Stream stream, LambSegment& segment, const Range& part,
                        const device::AdamUpdate& adam) = 0;

  void compute_direction(Stream stream, const LambSegment& segment, const Range& part,
                         const device::AdamUpdate& adam) {
    const device::Tensor gradients = slice(moments_.arena().gradients, part.begin, part.end);
    backend_.lamb_direction(stream, {.weights = adam.weights,
                                     .gradients = gradients,
                                     .first_moment = adam.first_moment,
                                     .second_moment = adam.second_moment,
                                     .corrections = adam.corrections,
                                     .beta1 = adam.beta1,
                                     .beta2 = adam.beta2,
                                     .epsilon = adam.epsilon,
                                     .weight_decay = adam.weight_decay,
                                     .gradient_scale = adam.gradient_scale,
                                     .norm_squared = adam.norm_squared,
                                     .max_norm = adam.max_norm,
                                     .norms = segment.norms});
  }

  // Of arena elements [begin, end), which lie in the segment.
  void apply(Stream stream, const LambSegment& segment, int64_t begin, int64_t end) {
    const ParameterArena& arena = moments_.arena();
    backend_.lamb_apply(stream, {.weights = slice(arena.weights, begin, end),
                                 .compute_weights = slice(arena.compute_weights, begin, end),
                                 .directions = slice(arena.gradients, begin, end),
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
    segment.pending -= part.end - part.begin;
    if (segment.pending > 0) return;
    apply(stream, segment, segment.offset, segment.offset + segment.size);
    segment.pending = segment.size;
  }
};

// Ranks have parts of it.
class SharedLamb final : public Lamb {
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

  void finish(Stream stream, int64_t begin, int64_t end) override {
    for_each_part(segments_, begin, end, [&](LambSegment& segment, int64_t from, int64_t to) {
      if (segment.decay) apply(stream, segment, from, to);
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
  return std::make_unique<SharedLamb>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
