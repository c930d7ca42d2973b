// A clip rule: the operations that it adds to a step, and its arithmetic. Each rule has a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/buckets/clip_mode.h"
#include "comm/communicator.h"
#include "device/operations/operations.h"

namespace strata::comm {

class BucketOrder;

// Squared norms in device memory, computed by earlier operations, and their limit.
struct ClipNorms {
  double* whole = nullptr;    // f64: norm of all gradients
  double* buckets = nullptr;  // [buckets] f64
  float max_norm = 1;         // limit times the loss scale, because gradients are scaled
  int64_t all_buckets = 0;    // number of buckets in all parts of the model
  int ranks = 1;              // number of ranks that reduce
};

class ClipRule {
 public:
  virtual ~ClipRule() = default;

  // ---- Requirements of the rule.

  // True if this rank's gradients are clipped before they are reduced.
  virtual bool clips_own() const { return false; }
  // True if no bucket may be reduced before all gradients are complete.
  virtual bool needs_whole_gradient() const { return false; }
  // True if ClipNorms::whole is the norm of the reduced gradients, which cast-backs add up.
  virtual bool norms_sums() const { return false; }

  // ---- Operations. Each function returns the operation that later ones wait for, or kNoObject.

  // Adds the operations between `ready`, which completes the bucket's gradients, and their clip.
  virtual int add_before_clip(BucketOrder&, int /*bucket*/, int ready) const { return ready; }
  // Adds the operations before the first bucket's clip, if needs_whole_gradient(). `last` is what
  // add_before_clip() returned for the last bucket.
  virtual int add_before_reductions(BucketOrder&, int last) const { return last; }
  // Adds the operations between operation `whole`, which completes the sums, and all updates.
  virtual int add_before_updates(BucketOrder&, int /*whole*/) const { return -1; }

  // ---- Arithmetic.

  // Returns how a bucket of this rank's gradients is clipped, if clips_own(). With a single rank
  // the optimizer update clips instead.
  virtual device::GradientClip own_clip(const ClipNorms&, int /*bucket*/) const { return {}; }
  // Returns how the update has to clip. GradientClip::scale of the result is ignored.
  virtual device::GradientClip update_clip(const ClipNorms&) const { return {}; }
  // Returns the norm of the scaled gradients before clipping, or nullopt if it is not computed.
  // `whole` and `buckets` are the values of ClipNorms. `parts` connects the ranks that hold parts
  // of the model, which call together; null if there is one part.
  virtual std::optional<double> gradient_norm(double /*whole*/,
                                              const std::vector<double>& /*buckets*/, int /*ranks*/,
                                              Communicator* /*parts*/) const {
    return std::nullopt;
  }
};

const ClipRule& clip_rule(ClipMode mode);

}  // namespace strata::comm
