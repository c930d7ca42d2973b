// LAMB, tensor by tensor: a range's direction is computed as soon as its gradients come, and takes
// their place; a tensor is updated when the last of its ranges has come.
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

class Lamb final : public Optimizer {
 public:
  Lamb(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
       const AdamOptions& options)
      : backend_(backend),
        moments_(backend, arena, options, "LAMB"),
        norms_(backend, segments.size() * sizeof(LambNorms)) {
    // Without decay there is no trust ratio of a tensor's own.
    for (const Segment& segment : merged(segments, MergedSegments::kWithoutDecay)) {
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
        add_part(stream, segment, adam);
      } else {
        backend_.adam_update(stream, adam);  // trust ratio 1
      }
    });
  }

  std::vector<OptimizerState> state() override { return moments_.state(); }

 private:
  void add_part(Stream stream, LambSegment& segment, const device::AdamUpdate& adam) {
    if (segment.pending == segment.size) {
      backend_.fill_zero(stream, segment.norms, sizeof(LambNorms));
    }
    backend_.lamb_direction(stream, {.weights = adam.weights,
                                     .gradients = adam.gradients,
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
    segment.pending -= adam.weights.size();
    if (segment.pending > 0) return;
    apply(stream, segment, adam.learning_rate);
    segment.pending = segment.size;
  }

  void apply(Stream stream, const LambSegment& segment,
             const device::StepValue<float>& learning_rate) {
    const int64_t begin = segment.offset, end = segment.offset + segment.size;
    const ParameterArena& arena = moments_.arena();
    backend_.lamb_apply(stream, {.weights = slice(arena.weights, begin, end),
                                 .compute_weights = slice(arena.compute_weights, begin, end),
                                 .directions = slice(arena.gradients, begin, end),
                                 .norms = segment.norms,
                                 .learning_rate = learning_rate});
  }

  device::Backend& backend_;
  Moments moments_;
  device::Buffer norms_;  // [segments] LambNorms
  std::vector<LambSegment> segments_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const Segment> segments,
                                     const AdamOptions& options) {
  check_segments(segments, arena.weights.size());
  return std::make_unique<Lamb>(backend, arena, segments, options);
}

}  // namespace strata::optim
