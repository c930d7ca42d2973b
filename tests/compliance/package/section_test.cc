#include "compliance/package/section.h"

#include <gtest/gtest.h>

#include "compliance/package/report.h"

namespace strata::compliance {
namespace {

TEST(Outcomes, TheWorstSectionDecides) {
  Section passed{"a", {}, {"a warning"}, {}}, failed{"b", {"an error"}, {}, {}},
      unjudged{"c", {}, {}, {"why"}, false};
  EXPECT_EQ(outcome_of({}), Outcome::kPassed);
  EXPECT_EQ(outcome_of({passed}), Outcome::kPassed);
  EXPECT_EQ(outcome_of({passed, unjudged}), Outcome::kNotJudged);
  EXPECT_EQ(outcome_of({failed, unjudged, passed}), Outcome::kFailed);
  unjudged.errors = {"an error"};
  EXPECT_EQ(unjudged.outcome(), Outcome::kFailed);
  EXPECT_EQ(section_text(passed).substr(0, 8), "passed a");
}

}  // namespace
}  // namespace strata::compliance
