#include "bench/simulation/measured_speed.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "base/error.h"
#include "base/files/files.h"
#include "bert/parameters/parameters.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::bench {
namespace {

using testing::HasSubstr;

bert::BertConfig small_model() {
  return {.vocab_size = 64, .hidden_size = 64, .layers = 2, .heads = 2, .intermediate_size = 128};
}

class MeasuredSpeed : public testing_support::TemporaryDirectory {
 protected:
  std::string error_of_text(const std::string& text) {
    write_file_atomically(path_, text);
    return testing_support::error_of([&] { read_measured_speed(path_, small_model(), {28, 12}); });
  }

  const std::filesystem::path path_ = directory_ / "step.json";
};

std::string step_json(const std::string& ranks, const std::string& seconds) {
  return R"({"version": 1, "ranks": )" + ranks + R"(, "model_flops_per_step": 6e9,
 "parameter_bytes": {"weights": 2e6, "gradients": )" +
         std::to_string(4 * bert::ParameterLayout(small_model()).size) +
         R"(, "state": 8e6}, "seconds": )" + seconds + "}";
}
constexpr const char* kSeconds = R"({"step": 0.5, "forward": 0.1, "backward": 0.2,
 "reduce_and_update_after_backward": 0.05, "update": 0.04})";

TEST_F(MeasuredSpeed, IsWorkOverTime) {
  write_file_atomically(path_, step_json("1", kSeconds));
  const DeviceSpeed speed = read_measured_speed(path_, small_model(), {28, 12});
  EXPECT_DOUBLE_EQ(speed.flops_per_second, 6e9 / 0.3);
  EXPECT_DOUBLE_EQ(speed.bytes_per_second,
                   static_cast<double>(bert::ParameterLayout(small_model()).size) * 40 / 0.04);
  EXPECT_DOUBLE_EQ(speed.step_seconds, 0.5 - 0.3 - 0.05);
}

TEST_F(MeasuredSpeed, OtherFilesAreRefusedByName) {
  EXPECT_THAT(error_of_text("{"), HasSubstr("step.json: is not a JSON object"));
  EXPECT_THAT(error_of_text("{}"), HasSubstr("'ranks'"));
  EXPECT_THAT(error_of_text(step_json("2", kSeconds)), HasSubstr("several ranks"));
  EXPECT_THAT(error_of_text(step_json("1", "3")), HasSubstr("has no 'seconds'"));
  EXPECT_THAT(error_of_text(step_json("1", R"({"step": 0.5})")), HasSubstr("'forward'"));
  EXPECT_THAT(error_of_text(step_json("1", R"({"step": 1, "forward": -1})")),
              HasSubstr("'forward'"));
  write_file_atomically(path_, step_json("1", kSeconds));
  EXPECT_THAT(testing_support::error_of([&] {
                read_measured_speed(path_, {}, {28, 12});
              }),
              HasSubstr("another model"));
  EXPECT_THAT(
      error_of_text(step_json("1", R"({"step": 1, "forward": 1e-300, "backward": 0, "update": 0,
                                     "reduce_and_update_after_backward": 0})")),
      HasSubstr("no device has"));
}

// A sample of MLPerf's mix on BERT-large takes about 0.5 TFLOP.
TEST_F(MeasuredSpeed, MayBeFittedToPublishedSystems) {
  write_file_atomically(path_, R"({"version": 1, "plans": [{"calibration":
      {"seconds_a_sample": 0.003, "seconds_a_step": 0.015}}]})");
  const DeviceSpeed speed = read_fitted_speed(path_, bert::BertConfig());
  EXPECT_NEAR(speed.flops_per_second / (0.53e12 / 0.003), 1, 0.1);
  EXPECT_DOUBLE_EQ(speed.step_seconds, 0.015);
  EXPECT_EQ(speed.bytes_per_second, 0);
  for (const auto& [text, reason] : std::map<std::string, std::string>{
           {"{}", "has no 'plans'"},
           {R"({"plans": [{}]})", "has no 'calibration'"},
           {R"({"plans": [{"calibration": {"seconds_a_sample": 0}}]})", "which no device has"},
           {R"({"plans": [{}, {}]})", "has 2 plans"}}) {
    write_file_atomically(path_, text);
    const std::string error =
        testing_support::error_of([&] { read_fitted_speed(path_, bert::BertConfig()); });
    EXPECT_THAT(error, HasSubstr(reason));
    EXPECT_THAT(error, HasSubstr("step.json"));
  }
}

TEST_F(MeasuredSpeed, ATimelineGivesTheMedianOfEachOperation) {
  std::string events;
  for (const int microseconds : {10, 30, 20}) {
    events += R"({"ph": "X", "name": "backward layer_0", "pid": 0, "tid": 1, "ts": 0, "dur": )" +
              std::to_string(microseconds) + "},";
  }
  events.pop_back();
  write_file_atomically(path_, "[" + events + "]");
  const std::map<std::string, double> durations = read_durations(path_);
  ASSERT_EQ(durations.size(), 1u);
  EXPECT_NEAR(durations.at("backward layer_0"), 20e-6, 1e-12);
}

}  // namespace
}  // namespace strata::bench
