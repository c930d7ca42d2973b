#include "plan/measured_step.h"

#include <string>

#include "plan/model_shape.h"
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

TEST(MeasuredStep, OtherFilesAreRefusedByNameWithARemedy) {
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
    EXPECT_EQ(error.find("step.json: has 12 sequences on "), 0u) << error;
  }
  std::string many(kStep);
  many.replace(many.find("12"), 2, "2e9");
  EXPECT_THAT(error_of([&] { parse_measured_step(many, "step.json"); }),
              HasSubstr("2,000,000,000 sequences on 2 ranks"));
  EXPECT_THAT(error_of([] { read_measured_step("/absent.json"); }), HasSubstr("/absent.json"));
}

std::string with_bytes(const std::string& bytes) {
  std::string text(kStep);
  return text.insert(1, "\"parameter_bytes\": " + bytes + ", ");
}

TEST(MeasuredStep, AStepOfAnotherModelIsRefused) {
  const auto check = [](const std::string& text, const ModelShape& shape = {}) {
    check_model(parse_measured_step(text, "step.json"), shape);
  };
  // BERT-large in f32 with a copy in bf16, alone and with the state of two ranks.
  const std::string whole =
      with_bytes(R"({"weights": 2017356648, "gradients": 1344904432, "state": 2689808864})");
  const std::string shared =
      with_bytes(R"({"weights": 1008678324, "gradients": 672452216, "state": 1344904432})");
  for (const std::string& text : {whole, shared, std::string(kStep)}) {
    EXPECT_NO_THROW(check(text));
  }
  const ModelShape base = shape_of({.layers = 12, .hidden = 768, .intermediate = 3072});
  const std::string error = error_of([&] { check(whole, base); });
  EXPECT_THAT(error, HasSubstr("step.json: a model of"));
  EXPECT_THAT(error, HasSubstr("million; give the measured model's config.json with --model"));
  EXPECT_NO_THROW(check(with_bytes(R"({"weights": 440424968, "gradients": 440424968})"), base));
  EXPECT_THAT(error_of([&] { check(with_bytes("3")); }),
              HasSubstr("\"parameter_bytes\" is not an object"));
}

}  // namespace
}  // namespace strata::plan
