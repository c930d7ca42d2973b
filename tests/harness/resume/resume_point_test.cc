#include "harness/resume/resume_point.h"

#include <gtest/gtest.h>

namespace strata::harness {
namespace {

TEST(ResumePoint, ANoteIsReadBack) {
  const ResumePoint point{.seed = 12345678901234567890u,
                          .step = 3,
                          .samples = 24,
                          .block_begin = 16,
                          .accuracy = 0.123456789012345,
                          .train_samples = 5,
                          .eval_samples = 6,
                          .log_bytes = 7,
                          .log_checksum = 0xffffffff};
  EXPECT_EQ(to_note(parse_note(to_note(point)).value()), to_note(point));
  EXPECT_EQ(parse_note(to_note(point))->accuracy, point.accuracy);
  for (const char* text : {"", "{}", "[]", "{\"seed\": \"x\"}", "1e999"}) {
    EXPECT_FALSE(parse_note(text)) << text;
  }
  for (const auto spoil :
       {+[](ResumePoint& p) { p.step = 0; }, +[](ResumePoint& p) { p.samples = -5; },
        +[](ResumePoint& p) { p.accuracy = 2; },
        +[](ResumePoint& p) { p.block_begin = p.samples + 1; },
        +[](ResumePoint& p) { p.log_bytes = 0; }}) {
    ResumePoint spoilt = point;
    spoil(spoilt);
    EXPECT_FALSE(parse_note(to_note(spoilt))) << to_note(spoilt);
  }
}

}  // namespace
}  // namespace strata::harness
