#include "training/trace/compute_times.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/files/files.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/host_backend.h"
#include "tests/support/temporary_directory.h"

namespace strata::training {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing_support::DeferredBackend;

constexpr double kWork = 2e-3;

// A device that takes kWork for any work, when somebody waits for it.
class ComputeTimesTest : public testing_support::TemporaryDirectory {
 protected:
  void issue_work() {
    device_.enqueue(device::Stream::kCompute, [this] {
      std::this_thread::sleep_for(milliseconds(2));
      ++done_;
    });
  }
  void issue_micro_batch(int number) {
    times_.begin();
    for (int block = 0; block < kBlocks; ++block) issue({Task::Kind::kForward, block, number});
    for (int block = kBlocks; block-- > 0;) issue({Task::Kind::kBackward, block, number});
  }
  void issue(const Task& task) {
    issue_work();
    times_.end(task, std::to_string(task.block));
  }

  static constexpr int kBlocks = 3;

  int done_ = 0;
  testing_support::HostBackend host_;
  DeferredBackend device_{host_, 1};
  ComputeTimes times_{device_};
};

TEST_F(ComputeTimesTest, AreMeasuredOnTheDevice) {
  const auto begin = Clock::now();
  issue_micro_batch(0);
  issue_micro_batch(1);
  EXPECT_EQ(done_, 0) << "the host does not wait";
  std::this_thread::sleep_for(milliseconds(20));
  const ComputeSeconds seconds = times_.read(nullptr);
  EXPECT_GE(seconds.forward, 2 * kBlocks * kWork);
  EXPECT_GE(seconds.backward, 2 * kBlocks * kWork);
  EXPECT_GE(seconds.last_backward, kBlocks * kWork);
  EXPECT_LE(seconds.last_backward, seconds.backward - kBlocks * kWork);
  EXPECT_LE(seconds.forward + seconds.backward, seconds_since(begin) - 20e-3);
}

TEST_F(ComputeTimesTest, SpansFollowEachOtherAndNameTheirTask) {
  const auto single_rank = comm::make_single_communicator();
  Timeline timeline(*single_rank);
  issue_micro_batch(0);
  times_.read(&timeline);
  timeline.write(directory_ / "timeline.json");
  std::vector<json> spans;
  const json trace = json::parse(read_file(directory_ / "timeline.json"));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
  }
  const std::vector<std::string> names = {"forward 0",  "forward 1",  "forward 2",
                                          "backward 2", "backward 1", "backward 0"};
  ASSERT_EQ(spans.size(), names.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i]["name"], names[i]);
    if (i == 0) continue;
    EXPECT_NEAR(spans[i]["ts"].get<double>(),
                spans[i - 1]["ts"].get<double>() + spans[i - 1]["dur"].get<double>(), 1e-2);
  }
}

}  // namespace
}  // namespace strata::training
