#include "device/backend.h"

#include <new>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/timing.h"

namespace strata::device {

namespace {

constexpr std::align_val_t kHostAlignment{64};

// Calls work(part, range) for every tensor; `range` is the part's position in the flat tensors.
template <typename Work>
void for_each_part(std::span<const LambPart> parts, const Work& work) {
  int64_t begin = 0;
  for (const LambPart& part : parts) {
    work(part, Range{begin, begin + part.size});
    begin += part.size;
  }
}

// Describes what a backend lacks, and what to use instead.
const char* lack_of(Operation operation) {
  const auto& [name, without] = entry_of(operation);
  return is_optional(operation) ? without : name;
}

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

bool Backend::supports(Operation operation, DType dtype) const {
  return !is_optional(operation) && (dtype == compute_dtype() || dtype == master_dtype());
}

void Backend::require(Operation operation, DType dtype) const {
  if (!supports(operation, dtype)) fail("{}: has no {}", description(), lack_of(operation));
}

#define STRATA_FAIL(function, Arguments, without)                               \
  void Backend::function(Stream, const Arguments&) {                            \
    fail("the {} backend has no {}", name(), lack_of(Operation::k##Arguments)); \
  }
STRATA_OPERATIONS(STRATA_FAIL)
#undef STRATA_FAIL

void Backend::lamb_directions(Stream stream, const LambDirections& op) {
  const AdamUpdate& all = op.adam;
  for_each_part(op.parts, [&](const LambPart& part, const Range& range) {
    AdamUpdate adam = all;
    adam.weights = elements_of(all.weights, range);
    adam.compute_weights = elements_of(all.compute_weights, range);
    adam.gradients = elements_of(op.directions, range);
    adam.first_moment = elements_of(all.first_moment, range);
    adam.second_moment = elements_of(all.second_moment, range);
    if (!part.norms) {
      adam.weight_decay = 0;
      adam_update(stream, adam);
      return;
    }
    if (part.first) fill_zero(stream, part.norms, sizeof(LambNorms));
    lamb_direction(stream, {.weights = adam.weights,
                            .gradients = elements_of(op.directions, range),
                            .first_moment = adam.first_moment,
                            .second_moment = adam.second_moment,
                            .corrections = adam.corrections,
                            .beta1 = adam.beta1,
                            .beta2 = adam.beta2,
                            .epsilon = adam.epsilon,
                            .weight_decay = adam.weight_decay,
                            .clip = adam.clip,
                            .norms = part.norms});
  });
}

void Backend::lamb_applies(Stream stream, const LambApplies& op) {
  const ConstTensor& all = op.directions;
  for_each_part(op.parts, [&](const LambPart& part, const Range& range) {
    if (!part.norms) return;
    const char* directions =
        all.as<char>() + range.begin * static_cast<int64_t>(size_of(all.dtype));
    lamb_apply(stream, {.weights = elements_of(op.weights, range),
                        .compute_weights = elements_of(op.compute_weights, range),
                        .directions = ConstTensor(directions, all.dtype, 1, part.size),
                        .norms = part.norms,
                        .learning_rate = op.learning_rate});
  });
}

}  // namespace strata::device
