// LAMB. A range's directions overwrite its gradients as soon as those are complete. A tensor is
// updated after all its ranges, on every rank, have their directions.
#include "device/memory/buffer.h"
#include "optim/adam.h"
#include "optim/segments.h"

namespace strata::optim {
namespace {

using device::LambNorms;
using device::Stream;

struct LambSegment : ParameterSegment {
  LambNorms* norms = nullptr;  // device memory
  int64_t pending = 0;         // elements whose direction is not computed yet in this step

  LambNorms* norms_of_part() const { return decay ? norms : nullptr; }
};

// Derived classes decide when a tensor's directions are complete.
class Lamb : public Optimizer {
 public:
  Lamb(device::Backend& backend, const ParameterArena& arena,
       std::span<const ParameterSegment> segments, const AdamOptions& options,
       std::span<const Range> owned)
      : backend_(backend), moments_(backend, arena, options, owned, "LAMB") {
    // A tensor without decay has no trust ratio.
    const std::vector<ParameterSegment> ours = merged(segments, MergedSegments::kWithoutDecay);
    norms_ = device::Buffer(backend, ours.size() * sizeof(LambNorms));
    for (const ParameterSegment& segment : ours) {
      segments_.push_back({segment, norms_.as<LambNorms>() + segments_.size(), segment.size});
    }
  }

  void begin_step(Stream stream, int64_t step, double learning_rate) override {
    moments_.begin_step(stream, step, learning_rate);
  }

  void update(Stream stream, const Range& range, const device::GradientClip& clip) override {
    Pass pass;
    const auto issue = [&] {
      if (pass.parts.empty()) return;
      backend_.lamb_directions(stream,
                               {.adam = moments_.update(pass.range, true, clip),
                                .directions = elements_of(moments_.arena().gradients, pass.range),
                                .parts = pass.parts});
      pass = {};
    };
    for_each_part(segments_, range, [&](LambSegment& segment, const Range& part) {
      if (!continues(pass, part)) issue();
      pass.add(part, segment.norms_of_part(), take_part(segment, part.size()));
    });
    issue();
    take_directions(stream, range);
  }

  std::vector<device::StateTensor> state() override { return moments_.tensors(); }

 protected:
  // Consecutive parts of the arena.
  struct Pass {
    Range range;
    std::vector<device::LambPart> parts;

    void add(const Range& part, LambNorms* norms, bool first) {
      if (parts.empty()) range.begin = part.begin;
      range.end = part.end;
      parts.push_back({part.size(), norms, first});
    }
  };

  // Returns true for a tensor's first part, which overwrites the norms.
  virtual bool take_part(LambSegment& segment, int64_t size) = 0;
  // Called after the directions of the arena elements `range` were issued.
  virtual void take_directions(Stream stream, const Range& range) = 0;

  // True if a part can extend the pass: it must follow in the arena and in memory.
  bool continues(const Pass& pass, const Range& part) const {
    if (pass.parts.empty()) return true;
    const ParameterArena& arena = moments_.arena();
    const Range both{pass.range.begin, part.end};
    const auto together = [&](const device::Arena& of) { return !of || of.place_of(both) >= 0; };
    return pass.range.end == part.begin && together(arena.weights) && together(arena.gradients) &&
           together(arena.compute_weights);
  }

  // Issues the pass and clears it.
  void apply(Stream stream, Pass& pass) {
    // Drops trailing tensors without decay, which need no update.
    while (!pass.parts.empty() && !pass.parts.back().norms) {
      pass.range.end -= pass.parts.back().size;
      pass.parts.pop_back();
    }
    const ParameterArena& arena = moments_.arena();
    if (!pass.parts.empty()) {
      backend_.lamb_applies(stream,
                            {.weights = elements_of(arena.weights, pass.range),
                             .compute_weights = elements_of(arena.compute_weights, pass.range),
                             .directions = elements_of(arena.gradients, pass.range),
                             .parts = pass.parts,
                             .learning_rate = moments_.learning_rate()});
    }
    pass = {};
  }

  device::Backend& backend_;
  ElementwiseState<AdamMethod> moments_;
  device::Buffer norms_;  // [segments] LambNorms
  std::vector<LambSegment> segments_;
};

// Each tensor lies on one rank.
class WholeLamb final : public Lamb {
 public:
  using Lamb::Lamb;

 private:
  bool take_part(LambSegment& segment, int64_t size) override {
    const bool first = segment.pending == segment.size;
    segment.pending -= size;
    return first;
  }

  // Updates the tensors whose last part has its directions now.
  void take_directions(Stream stream, const Range& range) override {
    Pass pass;
    for_each_part(segments_, range, [&](LambSegment& segment, const Range&) {
      if (segment.pending > 0) return;
      segment.pending = segment.size;
      const Range whole{segment.offset, segment.offset + segment.size};
      if (!segment.decay && pass.parts.empty()) return;
      if (!continues(pass, whole)) apply(stream, pass);
      pass.add(whole, segment.norms_of_part(), false);
    });
    apply(stream, pass);
  }
};

// Each tensor is sharded among ranks.
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
    Pass pass;
    for_each_part(segments_, range, [&](LambSegment& segment, const Range& part) {
      if (!segment.decay && pass.parts.empty()) return;
      if (!continues(pass, part)) apply(stream, pass);
      pass.add(part, segment.norms_of_part(), false);
    });
    apply(stream, pass);
  }

 private:
  bool take_part(LambSegment&, int64_t) override { return false; }
  void take_directions(Stream, const Range&) override {}
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const ParameterSegment> segments,
                                     const AdamOptions& options, std::span<const Range> owned) {
  backend.require(device::Operation::kLambDirection, backend.master_dtype());
  check_segments(segments, arena.weights.size());
  if (owned.empty()) return std::make_unique<WholeLamb>(backend, arena, segments, options, owned);
  return std::make_unique<ShardedLamb>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
