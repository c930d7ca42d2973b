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
  kFinish,  // DeferredUpdate::finish
  kGather,  // gathering updated weights
};

// The bucket of events that concern all buckets at once, and of those that concern LateRows.
inline constexpr int kNoBucket = -1;
inline constexpr int kLateRowsBucket = -2;

// One piece of work in a step, on std::chrono::steady_clock.
struct BucketEvent {
  int bucket = 0;  // kNoBucket: the exchange of the global norm, or of the deferred update's sums
  BucketPhase phase = BucketPhase::kClip;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

inline bool is_communication(BucketPhase phase) {
  return phase == BucketPhase::kReduce || phase == BucketPhase::kGather;
}

// What a step cost on this rank. Waiting for other ranks counts as communication.
struct StepTimes {
  double communication_seconds = 0;  // in all-reduces, or their halves
  // Of these, after backward, while there was nothing else to do.
  double exposed_communication_seconds = 0;
  double wait_seconds = 0;    // from backward's end to the last update
  double clip_seconds = 0;    // in norms, clipping and conversion
  double update_seconds = 0;  // in the update callbacks
};

// Of a step whose backward ended at `backward_end_ns`, and which itself did at `end_ns`.
StepTimes step_times(std::span<const BucketEvent> events, int64_t backward_end_ns, int64_t end_ns);

// Time from `begin_ns` on that is spent in communication and in nothing else.
int64_t exposed_communication_ns(std::span<const BucketEvent> events, int64_t begin_ns);

}  // namespace strata::comm
