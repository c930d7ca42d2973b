// Optimizers, which update weights from gradients over ranges of the flat parameter arena.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/backend.h"
#include "device/memory/arena.h"
#include "device/memory/state_tensor.h"

namespace strata::optim {

// The flat arenas of all parameters, in device memory owned by the caller. Each has at least the
// elements that are updated.
struct ParameterArena {
  device::Arena weights;          // [n] master dtype
  device::Arena compute_weights;  // [n] compute dtype; absent if compute reads the weights
  device::Arena gradients;        // [n] master dtype
};

// Position of one parameter tensor in the arena.
struct ParameterSegment {
  int64_t offset = 0;
  int64_t size = 0;
  bool decay = true;  // false for biases and LayerNorm
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Later updates belong to step `step`, counted from 1. Issued on the stream of the updates, or
  // before them.
  virtual void begin_step(device::Stream stream, int64_t step, double learning_rate) = 0;

  // Updates the weights of the arena elements `range`, which may cut segments. LAMB updates a whole
  // segment after its last range, or in finish(), and overwrites gradients with directions. Every
  // element is updated once per step, in ranges of any order. Issued on `stream`, which only one
  // thread may use at a time.
  virtual void update(device::Stream stream, const Range& range,
                      const device::GradientClip& clip) = 0;

  // Only if the state is sharded and an update needs sums over whole tensors, else absent: [n] f64,
  // to which update() adds this rank's parts. After every element is updated, the caller
  // all-reduces them and then calls finish() with any ranges.
  virtual device::Tensor partial_sums() const { return {}; }
  virtual void finish(device::Stream, const Range&) {}

  // The state, to be read or overwritten between steps: of the whole arena, or of the owned ranges
  // one after another.
  virtual std::vector<device::StateTensor> state() = 0;
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // only for the segments that decay
};

// Adam with decoupled weight decay and bias correction (Loshchilov & Hutter 2019, algorithm 2;
// formula at device::AdamUpdate). `backend` and the arena's memory must outlive the result.
// `segments` cover [0, n) without gaps, ascending, and are copied. `owned` has ascending ranges:
// moments have memory only for these, and every update lies in one of them. Empty: the whole arena.
// Throws Error if segments have gaps, the tensors differ in size, an option is out of range, or the
// backend lacks the operation.
std::unique_ptr<Optimizer> make_adam(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const ParameterSegment> segments,
                                     const AdamOptions& options, std::span<const Range> owned = {});

// LAMB: Adam with the update of every segment that decays scaled by the segment's trust ratio (see
// device::LambDirection). Options, `owned` and errors are as for Adam. With `owned`, the segments'
// norms are partial sums. The same ranges in the same order give the same bits.
std::unique_ptr<Optimizer> make_lamb(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const ParameterSegment> segments,
                                     const AdamOptions& options, std::span<const Range> owned = {});

struct MadgradOptions {
  double momentum = 0.9;    // in [0, 1): w = momentum w + (1 - momentum) z; optimizer.beta1
  double epsilon = 1e-6;    // above 0; added to the cube root
  double weight_decay = 0;  // decoupled; only for the segments that decay
};

// MADGRAD (Defazio & Jelassi 2021, arXiv 2101.11075, algorithm 1; formula at
// device::MadgradUpdate). begin_step(1) copies all owned weights to w0. State: madgrad_s,
// madgrad_v, madgrad_w0, each [n] master dtype. `segments`, `owned` and errors are as for Adam.
std::unique_ptr<Optimizer> make_madgrad(device::Backend& backend, const ParameterArena& arena,
                                        std::span<const ParameterSegment> segments,
                                        const MadgradOptions& options,
                                        std::span<const Range> owned = {});

struct AcClipOptions : AdamOptions {
  double alpha = 1;  // in [1, 2]: tau^alpha follows the mean of |g|^alpha
};

// ACClip (Zhang et al. 2020, arXiv 1912.03194, algorithm 2; formula at device::AcClipUpdate).
// State: acclip_m, acclip_tau (tau^alpha), each [n] master dtype. `segments`, `owned` and errors
// are as for Adam.
std::unique_ptr<Optimizer> make_acclip(device::Backend& backend, const ParameterArena& arena,
                                       std::span<const ParameterSegment> segments,
                                       const AcClipOptions& options,
                                       std::span<const Range> owned = {});

struct SgdOptions {
  double momentum = 0.9;    // in [0, 1); optimizer.beta1
  double weight_decay = 0;  // added to the gradient; only for the segments that decay
};

// SGD with momentum (formula at device::SgdUpdate). State: sgd_v, [n] master dtype. `segments`,
// `owned` and errors are as for Adam.
std::unique_ptr<Optimizer> make_sgd(device::Backend& backend, const ParameterArena& arena,
                                    std::span<const ParameterSegment> segments,
                                    const SgdOptions& options, std::span<const Range> owned = {});

}  // namespace strata::optim
