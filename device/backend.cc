#include "device/backend.h"

#include <new>
#include <utility>

#include "base/error.h"
#include "base/timing.h"

namespace strata::device {

namespace {

constexpr std::align_val_t kHostAlignment{64};

class WaitingStopwatch final : public Stopwatch {
 public:
  explicit WaitingStopwatch(Backend& backend) : backend_(backend) {}

  size_t mark(Stream stream) override {
    backend_.synchronize(stream);
    times_.push_back(nanoseconds(Clock::now()));
    return times_.size() - 1;
  }
  std::vector<int64_t> read() override { return std::exchange(times_, {}); }

 private:
  Backend& backend_;
  std::vector<int64_t> times_;
};

}  // namespace

void* Backend::allocate_host(size_t bytes) { return ::operator new(bytes, kHostAlignment); }

void Backend::release_host(void* memory) { ::operator delete(memory, kHostAlignment); }

void Backend::store(Stream stream, void* device, const void* values, size_t bytes) {
  copy_to_device(stream, device, values, bytes);
  synchronize(stream);
}

std::unique_ptr<Stopwatch> Backend::make_stopwatch() {
  return std::make_unique<WaitingStopwatch>(*this);
}

std::unique_ptr<CapturedGraph> Backend::capture(const std::function<void()>&) { return nullptr; }

void Backend::outside_capture(const std::function<void()>& call) { call(); }

std::unique_ptr<Collectives> Backend::make_collectives(const RankGroup&, Stream) { return nullptr; }

void Backend::lamb_direction(Stream, const LambDirection&) {
  fail("the {} backend has no LAMB; use optimizer.name adam", name());
}

void Backend::lamb_apply(Stream, const LambApply&) {
  fail("the {} backend has no LAMB; use optimizer.name adam", name());
}

void Backend::madgrad_update(Stream, const MadgradUpdate&) {
  fail("the {} backend has no MADGRAD; use optimizer.name adam", name());
}

void Backend::acclip_update(Stream, const AcClipUpdate&) {
  fail("the {} backend has no ACClip; use optimizer.name adam", name());
}

void Backend::residual_add_forward(Stream, const ResidualAddForward&) {
  fail("the {} backend has no pre-LN; use model.norm post", name());
}

void Backend::residual_add_backward(Stream, const ResidualAddBackward&) {
  fail("the {} backend has no pre-LN; use model.norm post", name());
}

void Backend::standardization_loss(Stream, const StandardizationLoss&) {
  fail("the {} backend has no standardization loss; use model.norm post", name());
}

void Backend::round_to_float8(Stream, const RoundToFloat8&) {
  fail("the {} backend has no FP8; use another model.precision", name());
}

void Backend::float8_update(Stream, const Float8Update&) {
  fail("the {} backend has no FP8; use another model.precision", name());
}

}  // namespace strata::device
