#include "optim/moments.h"
#include "optim/optimizer.h"

namespace strata::optim {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
       const AdamOptions& options, std::span<const Range> owned)
      : backend_(backend),
        moments_(backend, arena, options, "Adam", owned),
        segments_(merged(segments, MergedSegments::kAll)) {}

  void begin_step(device::Stream stream, int64_t step, double learning_rate) override {
    moments_.begin_step(stream, step, learning_rate);
  }

  void update(device::Stream stream, const Range& range,
              const device::GradientClip& clip) override {
    for_each_part(segments_, range, [&](const Segment& segment, const Range& part) {
      backend_.adam_update(stream, moments_.adam_update(part, segment.decay, clip));
    });
  }

  std::vector<device::StateTensor> state() override { return moments_.state(); }

 private:
  device::Backend& backend_;
  Moments moments_;
  std::vector<Segment> segments_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const Segment> segments, const AdamOptions& options,
                                     std::span<const Range> owned) {
  check_segments(segments, arena.weights.size());
  return std::make_unique<Adam>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
