#include "optim/elementwise_optimizer.h"
#include "optim/moments.h"

namespace strata::optim {
namespace {

class Adam final : public ElementwiseOptimizer {
 public:
  Adam(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
       const AdamOptions& options, std::span<const Range> owned)
      : ElementwiseOptimizer(segments, arena.weights.size()),
        backend_(backend),
        moments_(backend, arena, options, "Adam", owned) {}

  void begin_step(device::Stream stream, int64_t step, double learning_rate) override {
    moments_.begin_step(stream, step, learning_rate);
  }
  std::vector<device::StateTensor> state() override { return moments_.state(); }

 private:
  void update_part(device::Stream stream, const Range& part, bool decay,
                   const device::GradientClip& clip) override {
    backend_.adam_update(stream, moments_.adam_update(part, decay, clip));
  }

  device::Backend& backend_;
  Moments moments_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const Segment> segments, const AdamOptions& options,
                                     std::span<const Range> owned) {
  return std::make_unique<Adam>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
