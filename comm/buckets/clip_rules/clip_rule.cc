#include "comm/buckets/clip_rules/clip_rule.h"

#include "base/error.h"

namespace strata::comm {

// Each rule has a file that defines its function.
const ClipRule& clip_after_all_reduce();
const ClipRule& clip_before_all_reduce();
const ClipRule& clip_bucket_before_all_reduce();

const ClipRule& clip_rule(ClipMode mode) {
  static const ClipRule none;
  switch (mode) {
    case ClipMode::kNone:
      return none;
    case ClipMode::kAfterAllReduce:
      return clip_after_all_reduce();
    case ClipMode::kBeforeAllReduce:
      return clip_before_all_reduce();
    case ClipMode::kBucketBeforeAllReduce:
      return clip_bucket_before_all_reduce();
  }
  fail("there is no clip rule {}", static_cast<int>(mode));
}

}  // namespace strata::comm
