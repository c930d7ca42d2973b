#include "plan/forms/shared_layers.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace strata::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Transfers that follow each other; `done` of them have ended.
struct Queue {
  std::vector<double> seconds = {};  // time alone on the link
  size_t done = 0;
  double sent = 0;  // sent seconds of the next transfer

  bool busy() const { return done < seconds.size(); }
  double left() const { return busy() ? seconds[done] - sent : kNever; }
  void advance(double alone) {
    if (!busy()) return;
    sent += alone;
    if (sent < seconds[done] * (1 - 1e-12)) return;
    sent = 0;
    ++done;
  }
};

// The time, and the transfers on the link.
struct Clock {
  double now = 0;
  Queue gathers = {}, reductions = {};

  int sharing() const { return (gathers.busy() ? 1 : 0) + (reductions.busy() ? 1 : 0); }
  // Advances to the next transfer's end, by `most` at most.
  double advance(double most) {
    const double next = std::min(gathers.left(), reductions.left()) * sharing();
    const double passed = sharing() > 0 ? std::min(most, next) : most;
    const double sent = sharing() > 0 ? passed / sharing() : 0;
    gathers.advance(sent);
    reductions.advance(sent);
    now += passed;
    return passed;
  }
  void compute(double seconds) {
    while (seconds > 0) seconds -= advance(seconds);
  }
  void wait_for(const Queue& queue, size_t done) {
    while (queue.done < done) advance(kNever);
  }
};

// Blocks are in the order of forward: embeddings, layers, heads.
class Step {
 public:
  explicit Step(const SharedLayers& step)
      : step_(step),
        last_(static_cast<size_t>(step.layers) + 1),
        gathered_(last_ + 1),
        reduced_(last_ + 1),
        in_memory_(last_ + 1) {}

  double seconds() {
    for (int64_t pass = 0; pass < step_.passes; ++pass) {
      const bool is_last = pass + 1 == step_.passes;
      for (size_t block = 0; block < last_; ++block) {
        enter(block, block + 1);
        if (block > 0) clock_.compute(step_.forward);
      }
      enter(last_, last_ - 2);
      wait_for_gradients(0);  // the heads write a part of the tied words' gradient
      clock_.compute(step_.heads);
      for (size_t block = last_; block-- > 0;) {
        enter(block, block > 0 ? block - 1 : is_last ? block : 1);
        wait_for_gradients(block);
        if (block > 0) clock_.compute(step_.backward);
        reduce(block, is_last);
      }
    }
    clock_.wait_for(clock_.reductions, clock_.reductions.seconds.size());
    return clock_.now;
  }

 private:
  // The heads share the last layer's gather group. It and the embeddings stay in memory.
  size_t gather_group_of(size_t block) const { return std::min(block, last_ - 1); }
  bool stays(size_t group) const { return group == 0 || group == last_ - 1; }

  // Begins to gather the weights of this block and the next, and waits for the first.
  void enter(size_t block, size_t next) {
    if (!step_.gathers_weights) return;
    gather(gather_group_of(block));
    gather(gather_group_of(next));
    clock_.wait_for(clock_.gathers, gathered_[gather_group_of(block)]);
  }
  void gather(size_t group) {
    if (in_memory_[group]) return;
    for (size_t other = 1; other + 1 < last_ && !stays(group); ++other) {
      if (other % 2 == group % 2) in_memory_[other] = false;
    }
    in_memory_[group] = true;
    clock_.gathers.seconds.push_back(group == 0 ? step_.words_gather : step_.layer_gather);
    gathered_[group] = clock_.gathers.seconds.size();
  }

  // Waits for the reductions of gradients that used this memory before: the block's own of the
  // previous pass, and those of the layer that shares its buffer.
  void wait_for_gradients(size_t block) {
    size_t before = reduced_[block];
    for (size_t other = 1; other + 1 < last_ && !stays(block); ++other) {
      if (other % 2 == block % 2) before = std::max(before, reduced_[other]);
    }
    clock_.wait_for(clock_.reductions, before);
  }
  void reduce(size_t block, bool is_last) {
    const double seconds = block == 0 ? step_.words_reduce : step_.layer_reduce;
    const double back = block == 0 ? step_.words_return : step_.layer_return;
    clock_.reductions.seconds.push_back(seconds + (is_last ? back : 0));
    reduced_[block] = clock_.reductions.seconds.size();
  }

  const SharedLayers& step_;
  const size_t last_;  // index of the heads
  Clock clock_;
  // The transfers that must have ended in the queue for each gather group and block; 0 before the
  // first.
  std::vector<size_t> gathered_, reduced_;
  std::vector<bool> in_memory_;  // whether each gather group's weights are in memory
};

}  // namespace

double shared_layers_seconds(const SharedLayers& step) { return Step(step).seconds(); }

}  // namespace strata::plan
