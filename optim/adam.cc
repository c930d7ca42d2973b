#include <algorithm>

#include "base/error.h"
#include "optim/optimizer.h"

namespace strata::optim {
namespace {

using device::Tensor;

Tensor slice(const Tensor& arena, int64_t begin, int64_t end) {
  if (!arena) return arena;
  return {arena.as<char>() + begin * static_cast<int64_t>(device::size_of(arena.dtype)),
          arena.dtype, 1, end - begin};
}

// Neighbours with the same decay become one, so that a pass over them is one operation.
std::vector<Segment> merged(std::span<const Segment> segments, int64_t arena_size) {
  std::vector<Segment> result;
  int64_t expected = 0;
  for (const Segment& segment : segments) {
    if (segment.offset != expected || segment.size < 0) {
      fail("parameter segment at {} of size {}: expected one that starts at {}", segment.offset,
           segment.size, expected);
    }
    expected += segment.size;
    if (!result.empty() && result.back().decay == segment.decay) {
      result.back().size += segment.size;
    } else {
      result.push_back(segment);
    }
  }
  if (expected != arena_size) {
    fail("parameter segments end at {}, the arena at {}", expected, arena_size);
  }
  return result;
}

class Adam final : public Optimizer {
 public:
  Adam(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
       const AdamOptions& options)
      : backend_(backend),
        arena_(arena),
        options_(options),
        segments_(merged(segments, arena.weights.size())),
        first_moment_(backend, arena.weights.bytes()),
        second_moment_(backend, arena.weights.bytes()) {}

  void update(device::Stream stream, int64_t begin, int64_t end,
              const UpdateOptions& options) override {
    auto segment = std::upper_bound(segments_.begin(), segments_.end(), begin,
                                    [](int64_t offset, const Segment& candidate) {
                                      return offset < candidate.offset + candidate.size;
                                    });
    for (; segment != segments_.end() && segment->offset < end; ++segment) {
      update_segment(stream, std::max(begin, segment->offset),
                     std::min(end, segment->offset + segment->size), segment->decay, options);
    }
  }

  std::vector<OptimizerState> state() override {
    return {{"adam_m", moment(first_moment_)}, {"adam_v", moment(second_moment_)}};
  }

 private:
  Tensor moment(const device::Buffer& buffer) const {
    return {buffer.data(), arena_.weights.dtype, 1, arena_.weights.size()};
  }

  void update_segment(device::Stream stream, int64_t begin, int64_t end, bool decay,
                      const UpdateOptions& options) {
    backend_.adam_update(stream,
                         {.weights = slice(arena_.weights, begin, end),
                          .compute_weights = slice(arena_.compute_weights, begin, end),
                          .gradients = slice(arena_.gradients, begin, end),
                          .first_moment = slice(moment(first_moment_), begin, end),
                          .second_moment = slice(moment(second_moment_), begin, end),
                          .learning_rate = static_cast<float>(options.learning_rate),
                          .beta1 = static_cast<float>(options_.beta1),
                          .beta2 = static_cast<float>(options_.beta2),
                          .epsilon = static_cast<float>(options_.epsilon),
                          .weight_decay = decay ? static_cast<float>(options_.weight_decay) : 0.0f,
                          .step = options.step,
                          .gradient_scale = options.gradient_scale,
                          .norm_squared = options.norm_squared,
                          .max_norm = options.max_norm});
  }

  device::Backend& backend_;
  ParameterArena arena_;
  AdamOptions options_;
  std::vector<Segment> segments_;
  device::Buffer first_moment_;
  device::Buffer second_moment_;
};

void check_arena(const ParameterArena& arena) {
  const int64_t n = arena.weights.size();
  if (arena.gradients.size() != n || (arena.compute_weights && arena.compute_weights.size() != n)) {
    fail("arena of {} weights has {} gradients and {} compute weights: they must be equally many",
         n, arena.gradients.size(), arena.compute_weights.size());
  }
}

void check_options(const AdamOptions& options) {
  const auto check_beta = [](const char* key, double beta) {
    if (!(beta >= 0 && beta < 1))
      fail("Adam's {} is {}: it must be at least 0 and below 1", key, beta);
  };
  check_beta("beta1", options.beta1);
  check_beta("beta2", options.beta2);
  if (!(options.epsilon >= 0)) fail("Adam's epsilon is {}: it must be at least 0", options.epsilon);
  if (!(options.weight_decay >= 0)) {
    fail("Adam's weight_decay is {}: it must be at least 0", options.weight_decay);
  }
}

}  // namespace

std::unique_ptr<Optimizer> make_adam(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const Segment> segments,
                                     const AdamOptions& options) {
  check_arena(arena);
  check_options(options);
  return std::make_unique<Adam>(backend, arena, segments, options);
}

}  // namespace strata::optim
