#include "comm/order/operation_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata::comm {
namespace {

using enum Operation::Kind;

OperationTime took(int bucket, Operation::Kind kind, int64_t begin_ns, int64_t end_ns) {
  const Lane lane = kind == kReduce          ? Lane::kCollectives
                    : kind == kGatherUpdated ? Lane::kGathers
                                             : Lane::kArithmetic;
  return {kind, bucket, lane, begin_ns, end_ns};
}

TEST(ExposedCommunication, IsTheTimeInWhichOnlyCommunicationRuns) {
  const std::vector<OperationTime> events = {took(0, kReduce, 100, 200),
                                             took(1, kReduce, 200, 350)};
  EXPECT_EQ(exposed_communication_ns(events, 0), 250);
  EXPECT_EQ(exposed_communication_ns(events, 150), 200) << "backward ended at 150";
  EXPECT_EQ(exposed_communication_ns(events, 350), 0);
  EXPECT_EQ(exposed_communication_ns({}, 0), 0);
}

TEST(ExposedCommunication, ExcludesTimeInWhichAnUpdateRuns) {
  const std::vector<OperationTime> events = {took(0, kUpdate, 120, 150), took(1, kReduce, 100, 200),
                                             took(0, kCastBack, 190, 260),
                                             took(2, kReduce, 200, 300)};
  EXPECT_EQ(exposed_communication_ns(events, 0), 200 - 30 - 70);
  EXPECT_EQ(exposed_communication_ns(events, 130), 170 - 20 - 70);
}

TEST(ExposedCommunication, CountsReductionsAndGatheringsAtTheSameTimeOnce) {
  const std::vector<OperationTime> events = {
      took(1, kReduce, 0, 100), took(0, kGatherUpdated, 50, 150), took(2, kClip, 140, 145)};
  EXPECT_EQ(exposed_communication_ns(events, 0), 145);
}

TEST(StepTimes, AreSumsByKindOfWork) {
  constexpr int64_t kSecond = 1'000'000'000;
  const std::vector<OperationTime> events = {took(0, kClip, 1 * kSecond, 2 * kSecond),
                                             took(0, kReduce, 2 * kSecond, 5 * kSecond),
                                             took(0, kCastBack, 5 * kSecond, 9 * kSecond),
                                             took(0, kUpdate, 9 * kSecond, 14 * kSecond),
                                             took(0, kFinishUpdate, 14 * kSecond, 20 * kSecond),
                                             took(0, kGatherUpdated, 20 * kSecond, 27 * kSecond)};
  const StepTimes times = step_times(events, 4 * kSecond, 28 * kSecond);
  EXPECT_DOUBLE_EQ(times.wait_seconds, 28 - 4);
  EXPECT_DOUBLE_EQ(times.clip_seconds, 1 + 4);
  EXPECT_DOUBLE_EQ(times.communication_seconds, 3 + 7);
  EXPECT_DOUBLE_EQ(times.update_seconds, 5 + 6);
  EXPECT_DOUBLE_EQ(times.exposed_communication_seconds, 1 + 7);
}

}  // namespace
}  // namespace strata::comm
