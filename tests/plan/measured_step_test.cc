#include "plan/measured_step.h"

#include <string>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

using testing_support::error_of;

constexpr const char* kStep =
    R"({"ranks": 2, "sequences_per_step": 12, "seconds": {"step": 0.5},
        "lengths": [[100, 20, 30], [1, 2, 3]]})";

TEST(MeasuredStep, IsReadFromTheBenchmarksOutput) {
  const MeasuredStep step = parse_measured_step(kStep, "step.json");
  EXPECT_EQ(step.name, "step.json");
  EXPECT_EQ(step.ranks, 2);
  EXPECT_EQ(step.nodes, 1);
  EXPECT_EQ(step.samples_per_rank(), 6);
  EXPECT_EQ(step.micro_batches, 2);
  EXPECT_EQ(step.seconds, 0.5);
  EXPECT_EQ(step.steps_per_evaluation, 0);
}

TEST(MeasuredStep, AnythingElseIsRefusedByNameWithWhatToDo) {
  std::string none(kStep), negative(kStep), empty(kStep);
  none.replace(none.find("sequences"), 9, "sentences");
  negative.replace(negative.find("0.5"), 3, "-50");
  empty.replace(empty.find("[100, 20, 30]"), 13, "[]");
  for (const std::string& text : {std::string("[1]"), std::string("{"), std::string("{}"),
                                  std::string(R"({"seconds": 3})"), none, negative, empty}) {
    const std::string error = error_of([&] { parse_measured_step(text, "step.json"); });
    EXPECT_EQ(error.find("step.json: "), 0u) << error;
    EXPECT_THAT(error, HasSubstr("strata bench step"));
  }
  for (const char* ranks : {"0.3", "1e9", "1e12"}) {
    std::string text(kStep);
    text.replace(text.find("2"), 1, ranks);
    const std::string error = error_of([&] { parse_measured_step(text, "step.json"); });
    EXPECT_EQ(error.find("step.json: 12 sequences on "), 0u) << error;
  }
  std::string many(kStep);
  many.replace(many.find("12"), 2, "2e9");
  EXPECT_THAT(error_of([&] { parse_measured_step(many, "step.json"); }),
              HasSubstr("2,000,000,000 sequences on 2 ranks"));
  EXPECT_THAT(error_of([] { read_measured_step("/absent.json"); }), HasSubstr("/absent.json"));
}

}  // namespace
}  // namespace strata::plan
