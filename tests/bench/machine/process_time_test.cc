#include "bench/machine/process_time.h"

#include <gtest/gtest.h>

#include "base/timing.h"

namespace strata::bench {
namespace {

const Clock::time_point kStaticInitialisation = Clock::now();

// The process started shortly before its statics were initialised.
TEST(ProcessTime, IsCountedFromTheStartOfTheProcess) {
  const double resolution = 0.02;
  const double at_least = seconds_since(kStaticInitialisation);
  const double seconds = seconds_since_process_start();
  EXPECT_GE(seconds, at_least - resolution);
  EXPECT_LE(seconds, at_least + 600);
}

}  // namespace
}  // namespace strata::bench
