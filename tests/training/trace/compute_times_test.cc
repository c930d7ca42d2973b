#include "training/trace/compute_times.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/host_backend.h"
#include "tests/support/temporary_directory.h"

namespace strata::training {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing_support::DeferredBackend;

constexpr double kWork = 2e-3;

// A device that works on whatever it is given for kWork, once somebody waits for it.
class ComputeTimesTest : public TemporaryDirectory {
 protected:
  void issue_work() {
    device_.enqueue(device::Stream::kCompute, [this] {
      std::this_thread::sleep_for(milliseconds(2));
      ++done_;
    });
  }
  void issue_micro_batch() {
    times_.begin_forward();
    issue_work();
    times_.begin_backward();
    for (size_t i = 1; i < layout_.boundaries.size(); ++i) {
      issue_work();
      times_.group_final(layout_.boundaries[i]);
    }
  }

  int done_ = 0;
  testing_support::HostBackend host_;
  DeferredBackend device_{host_, 1};
  bert::ParameterLayout layout_{bert::load_bert_config("tiny")};
  ComputeTimes times_{device_, layout_};
  double groups_ = static_cast<double>(layout_.groups.size());
};

TEST_F(ComputeTimesTest, AreTheDevices) {
  const auto begin = Clock::now();
  issue_micro_batch();
  issue_micro_batch();
  EXPECT_EQ(done_, 0) << "the host does not wait";
  std::this_thread::sleep_for(milliseconds(20));
  const ComputeSeconds seconds = times_.read(nullptr);
  EXPECT_GE(seconds.forward, 2 * kWork);
  EXPECT_GE(seconds.backward, 2 * groups_ * kWork);
  EXPECT_GE(seconds.last_backward, groups_ * kWork);
  EXPECT_LE(seconds.last_backward, seconds.backward - groups_ * kWork);
  EXPECT_LE(seconds.forward + seconds.backward, seconds_since(begin) - 20e-3);
}

TEST_F(ComputeTimesTest, BackwardsSpansFollowEachOtherAndNameTheirGroup) {
  const auto alone = comm::make_single_communicator();
  Timeline timeline(*alone);
  issue_micro_batch();
  times_.read(&timeline);
  timeline.write(directory_ / "timeline.json");
  std::vector<json> spans;
  const json trace = json::parse(read_file(directory_ / "timeline.json"));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
  }
  ASSERT_EQ(spans.size(), layout_.groups.size() + 1);
  EXPECT_EQ(spans[0]["name"], "forward");
  EXPECT_EQ(spans[1]["name"], "backward heads");
  EXPECT_EQ(spans.back()["name"], "backward embeddings");
  for (size_t i = 1; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i]["name"], "backward " + layout_.groups[i - 1]);
    EXPECT_NEAR(spans[i]["ts"].get<double>(),
                spans[i - 1]["ts"].get<double>() + spans[i - 1]["dur"].get<double>(), 1e-2);
  }
}

}  // namespace
}  // namespace strata::training
