#include "comm/emulated/wire.h"

#include <gtest/gtest.h>

#include <chrono>

namespace strata::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

const Clock::time_point kStart{std::chrono::hours(1)};

void expect_at(Clock::time_point time, double seconds_after_start) {
  EXPECT_NEAR(seconds_between(kStart, time), seconds_after_start, 1e-6);
}

TEST(Wire, CarriesOneTransferInItsOwnTime) {
  Wire wire;
  const Wire::Transfer transfer = wire.begin(2, kStart);
  expect_at(wire.end(transfer, kStart), 2);
  expect_at(wire.end(transfer, kStart + seconds(1)), 2);
  expect_at(wire.end(transfer, kStart + seconds(7)), 2);
  wire.release(transfer);
  const Wire::Transfer later = wire.begin(1, kStart + seconds(7));
  expect_at(wire.end(later, kStart + seconds(7)), 8);
  expect_at(wire.end(wire.begin(0, kStart + seconds(7)), kStart + seconds(7)), 7);
}

TEST(Wire, TransfersAtOnceShareItEvenly) {
  Wire wire;
  const Wire::Transfer longer = wire.begin(4, kStart);
  expect_at(wire.end(longer, kStart + seconds(1)), 4);
  const Wire::Transfer shorter = wire.begin(1, kStart + seconds(1));
  // Each has half the speed from 1 to 3, when the shorter ends.
  expect_at(wire.end(shorter, kStart + seconds(1)), 3);
  expect_at(wire.end(longer, kStart + seconds(1)), 5);
  expect_at(wire.end(longer, kStart + seconds(2)), 5);
  // Each has a third of the speed from 2 to 3.5.
  const Wire::Transfer third = wire.begin(1, kStart + seconds(2));
  expect_at(wire.end(shorter, kStart + seconds(2)), 3.5);
  expect_at(wire.end(third, kStart + seconds(2)), 4.5);
  expect_at(wire.end(longer, kStart + seconds(2)), 6);
  // The number and the times of queries do not matter.
  for (int i = 0; i < 5000; ++i) wire.end(third, kStart + seconds(2) + i * microseconds(1000));
  expect_at(wire.end(shorter, kStart + seconds(60)), 3.5);
  expect_at(wire.end(third, kStart + seconds(60)), 4.5);
  expect_at(wire.end(longer, kStart + seconds(60)), 6);
}

// The total throughput is that of transfers one after the other.
TEST(Wire, IsNeverIdleBeforeAllIsSent) {
  Wire wire;
  std::vector<Wire::Transfer> transfers;
  double sum = 0;
  for (int i = 1; i <= 20; ++i) {
    transfers.push_back(wire.begin(i, kStart + seconds(i)));
    sum += i;
  }
  Clock::time_point last = kStart;
  for (const Wire::Transfer transfer : transfers) {
    last = std::max(last, wire.end(transfer, kStart + seconds(20)));
  }
  expect_at(last, 1 + sum);
}

}  // namespace
}  // namespace strata::comm
