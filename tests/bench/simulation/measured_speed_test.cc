#include "bench/simulation/measured_speed.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::bench {
namespace {

using testing::HasSubstr;

class MeasuredSpeed : public testing_support::TemporaryDirectory {
 protected:
  std::string error_of_text(const std::string& text) {
    write_file_atomically(path_, text);
    return testing_support::error_of([&] { read_measured_speed(path_); });
  }

  const std::filesystem::path path_ = directory_ / "step.json";
};

std::string step_json(const std::string& ranks, const std::string& seconds) {
  return R"({"version": 1, "ranks": )" + ranks + R"(, "model_flops_per_step": 6e9,
 "parameter_bytes": {"weights": 2e6, "gradients": 4e6, "state": 8e6}, "seconds": )" +
         seconds + "}";
}
constexpr const char* kSeconds = R"({"step": 0.5, "forward": 0.1, "backward": 0.2,
 "reduce_and_update_after_backward": 0.05, "update": 0.04})";

TEST_F(MeasuredSpeed, IsWorkOverTime) {
  write_file_atomically(path_, step_json("1", kSeconds));
  const DeviceSpeed speed = read_measured_speed(path_);
  EXPECT_DOUBLE_EQ(speed.flops_per_second, 6e9 / 0.3);
  EXPECT_DOUBLE_EQ(speed.bytes_per_second, 1e6 * kUpdateBytes / 0.04);
  EXPECT_DOUBLE_EQ(speed.step_seconds, 0.5 - 0.3 - 0.05);
}

TEST_F(MeasuredSpeed, OtherFilesAreRefusedByName) {
  EXPECT_THAT(error_of_text("{"), HasSubstr("step.json: is no JSON"));
  EXPECT_THAT(error_of_text("{}"), HasSubstr("'ranks'"));
  EXPECT_THAT(error_of_text(step_json("2", kSeconds)), HasSubstr("several ranks"));
  EXPECT_THAT(error_of_text(step_json("1", "3")), HasSubstr("has no 'seconds'"));
  EXPECT_THAT(error_of_text(step_json("1", R"({"step": 0.5})")), HasSubstr("'forward'"));
  EXPECT_THAT(error_of_text(step_json("1", R"({"step": 1, "forward": -1})")),
              HasSubstr("'forward'"));
}

}  // namespace
}  // namespace strata::bench
