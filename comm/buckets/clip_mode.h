// Modes of gradient clipping.
#pragma once

#include <cstdint>

namespace strata::comm {

// c is max_norm, K the number of buckets, g a rank's gradient, g_k its bucket k. The norm of g is
// over all parameters.
enum class ClipMode : uint8_t {
  kNone,
  kAfterAllReduce,   // the mean over ranks, times min(1, c / ||mean||)
  kBeforeAllReduce,  // each rank's g times min(1, c / ||g||), then the mean
  // Each rank's bucket g_k times min(1, c / sqrt(K) / ||g_k||), then the mean. The norm of the mean
  // is at most c.
  kBucketBeforeAllReduce,
};

}  // namespace strata::comm
