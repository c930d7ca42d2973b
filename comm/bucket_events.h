// What happened to gradient buckets when.
#pragma once

#include <cstdint>
#include <span>

namespace strata::comm {

enum class BucketPhase : uint8_t {
  kClip,    // before the all-reduce: norm, clipping, conversion to reduce_dtype
  kReduce,  // the all-reduce
  kNorm,    // after it: conversion back, norm
  kUpdate,  // the update callback
  kFinish,  // the second half's
  kGather,  // gathering updated weights
};

// One piece of work in a step, on std::chrono::steady_clock.
struct BucketEvent {
  int bucket = 0;  // -1: the exchange of the global norm, or of the second half's sums
  BucketPhase phase = BucketPhase::kClip;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

inline bool is_communication(BucketPhase phase) {
  return phase == BucketPhase::kReduce || phase == BucketPhase::kGather;
}

// Time from `begin_ns` on that is spent in communication and in nothing else.
int64_t exposed_communication_ns(std::span<const BucketEvent> events, int64_t begin_ns);

}  // namespace strata::comm
