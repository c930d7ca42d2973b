#include "optim/moments.h"

#include "base/error.h"

namespace strata::optim {
namespace {

void check_arena(const ParameterArena& arena) {
  const int64_t n = arena.weights.size();
  if (arena.gradients.size() != n || (arena.compute_weights && arena.compute_weights.size() != n)) {
    fail("arena of {} weights has {} gradients and {} compute weights: they must be equally many",
         n, arena.gradients.size(), arena.compute_weights.size());
  }
}

void check_options(const AdamOptions& options, const char* optimizer) {
  const auto check_beta = [&](const char* key, double beta) {
    if (!(beta >= 0 && beta < 1)) {
      fail("{}'s {} is {}: it must be at least 0 and below 1", optimizer, key, beta);
    }
  };
  check_beta("beta1", options.beta1);
  check_beta("beta2", options.beta2);
  if (!(options.epsilon >= 0)) {
    fail("{}'s epsilon is {}: it must be at least 0", optimizer, options.epsilon);
  }
  if (!(options.weight_decay >= 0)) {
    fail("{}'s weight_decay is {}: it must be at least 0", optimizer, options.weight_decay);
  }
}

}  // namespace

void check_segments(std::span<const Segment> segments, int64_t arena_size) {
  int64_t expected = 0;
  for (const Segment& segment : segments) {
    if (segment.offset != expected || segment.size < 0) {
      fail("parameter segment at {} of size {}: expected one that starts at {}", segment.offset,
           segment.size, expected);
    }
    expected += segment.size;
  }
  if (expected != arena_size) {
    fail("parameter segments end at {}, the arena at {}", expected, arena_size);
  }
}

std::vector<Segment> merged(std::span<const Segment> segments, MergedSegments which) {
  std::vector<Segment> result;
  for (const Segment& segment : segments) {
    const bool alike = !result.empty() && result.back().decay == segment.decay;
    if (alike && (which == MergedSegments::kAll || !segment.decay)) {
      result.back().size += segment.size;
    } else {
      result.push_back(segment);
    }
  }
  return result;
}

Moments::Moments(device::Backend& backend, const ParameterArena& arena, const AdamOptions& options,
                 const char* optimizer, std::span<const Range> owned)
    : backend_(backend),
      arena_(arena),
      options_(options),
      step_values_(backend, sizeof(StepValues)) {
  check_arena(arena);
  check_options(options, optimizer);
  const Range whole{0, arena.weights.size()};
  const std::span kept = owned.empty() ? std::span(&whole, 1) : owned;
  const device::DType dtype = arena.weights.memory().dtype;
  const int64_t size = device::total_size(kept);
  const auto make = [&](device::Buffer& buffer) {
    buffer = device::Buffer(backend, static_cast<size_t>(size) * device::size_of(dtype));
    return device::Arena({buffer.data(), dtype, 1, size}, arena.weights.size(),
                         device::packed(kept));
  };
  first_moment_ = make(first_);
  second_moment_ = make(second_);
}

void Moments::begin_step(device::Stream stream, int64_t step, double learning_rate) {
  // The betas as the operations have them.
  const auto beta1 = static_cast<float>(options_.beta1), beta2 = static_cast<float>(options_.beta2);
  const StepValues values{static_cast<float>(learning_rate),
                          device::bias_corrections(beta1, beta2, step)};
  backend_.store(stream, step_values_.data(), &values, sizeof values);
  step_begun_ = true;
}

device::AdamUpdate Moments::adam_update(const Range& range, bool decay,
                                        const device::GradientClip& clip) const {
  if (!step_begun_) fail("an update of weights before any step began");
  if (first_moment_.place_of(range) < 0) {
    fail("update of elements [{}, {}): this rank keeps no moments of all of them", range.begin,
         range.end);
  }
  const auto* step = step_values_.as<StepValues>();
  return {.weights = elements_of(arena_.weights, range),
          .compute_weights = elements_of(arena_.compute_weights, range),
          .gradients = elements_of(arena_.gradients, range),
          .first_moment = elements_of(first_moment_, range),
          .second_moment = elements_of(second_moment_, range),
          .learning_rate = learning_rate(),
          .corrections = device::value_at(&step->corrections),
          .beta1 = static_cast<float>(options_.beta1),
          .beta2 = static_cast<float>(options_.beta2),
          .epsilon = static_cast<float>(options_.epsilon),
          .weight_decay = decay ? static_cast<float>(options_.weight_decay) : 0.0f,
          .clip = clip};
}

device::StepValue<float> Moments::learning_rate() const {
  return device::value_at(&step_values_.as<StepValues>()->learning_rate);
}

std::vector<device::StateTensor> Moments::state() const {
  return {{"adam_m", first_moment_.memory()}, {"adam_v", second_moment_.memory()}};
}

}  // namespace strata::optim
