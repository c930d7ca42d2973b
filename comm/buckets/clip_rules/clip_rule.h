// How gradients are clipped: the operations that a rule adds to a step, and its arithmetic. A file
// a rule.
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

// The squared norms that operations have left, in device memory, and the limit on them.
struct ClipNorms {
  double* whole = nullptr;    // of all gradients
  double* buckets = nullptr;  // [buckets] of each one
  float max_norm = 1;         // times the loss's scale, as gradients are
  int64_t all_buckets = 0;    // of all parts of the model
  int ranks = 1;              // that reduce
};

class ClipRule {
 public:
  virtual ~ClipRule() = default;

  // ---- What the rule needs.

  // This rank's gradients are clipped before they are reduced.
  virtual bool clips_own() const { return false; }
  // No bucket is reduced before the gradients of all are complete.
  virtual bool needs_whole_gradient() const { return false; }
  // The norm of the sums is taken as they arrive, in ClipNorms::whole.
  virtual bool norms_sums() const { return false; }

  // ---- Operations. Each returns the one that must be done before what follows; kNoObject: none.

  // Adds what comes before the bucket is clipped and reduced, after its gradients are `ready`.
  virtual int add_before_clip(BucketOrder&, int /*bucket*/, int ready) const { return ready; }
  // With needs_whole_gradient(): adds what comes before the first bucket is clipped, after `last`,
  // which add_before_clip() returned for the last bucket.
  virtual int add_before_reductions(BucketOrder&, int last) const { return last; }
  // Adds what comes before all updates, once the sums are `whole`.
  virtual int add_before_updates(BucketOrder&, int /*whole*/) const { return -1; }

  // ---- Arithmetic.

  // With clips_own(): how a bucket of this rank's gradients is clipped. A single rank's update does
  // it.
  virtual device::GradientClip own_clip(const ClipNorms&, int /*bucket*/) const { return {}; }
  // What the update has to clip. Its scale does not count.
  virtual device::GradientClip update_clip(const ClipNorms&) const { return {}; }
  // The norm before clipping, of gradients of the scaled loss, from the values of the norms, of
  // which `whole` is of all gradients; nullopt: it is not computed. `parts` have other parts of the
  // model and call together; null: there are none.
  virtual std::optional<double> gradient_norm(double /*whole*/,
                                              const std::vector<double>& /*buckets*/, int /*ranks*/,
                                              Communicator* /*parts*/) const {
    return std::nullopt;
  }
};

const ClipRule& clip_rule(ClipMode mode);

}  // namespace strata::comm
