#include "bench/schedules/closed_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "training/schedules/pipeline.h"

namespace strata::bench {
namespace {

double exposed(const std::vector<double>& seconds, const std::vector<double>& before_end) {
  return exposed_communication(seconds, before_end);
}

TEST(ExposedCommunication, IsTheCommunicationLeftAfterBackward) {
  EXPECT_EQ(exposed({1, 1, 1}, {3, 2, 1}), 0);
  EXPECT_EQ(exposed({1, 1, 1}, {2, 1, 0}), 1) << "each waits for its layer";
  EXPECT_EQ(exposed({2, 2, 2}, {2, 1, 0}), 4) << "each waits for the one before";
  EXPECT_EQ(exposed({5, 1, 1}, {7, 1, 0}), 1) << "both in turn";
  EXPECT_EQ(exposed({}, {}), 0);
}

// C = 8, tail 1/8: the larger of tail C and C - B.
TEST(ExposedCommunication, IsTheLargerOfTwoTermsForManyLayers) {
  constexpr int kLayers = 1000;
  for (const double backward : {2.0, 6.0, 7.5, 20.0}) {
    std::vector<double> seconds(kLayers, 7.0 / kLayers), before_end(kLayers);
    for (int i = 0; i < kLayers; ++i) {
      before_end[static_cast<size_t>(i)] = backward * (kLayers - i) / kLayers;
    }
    seconds.push_back(1);
    before_end.push_back(0);
    EXPECT_NEAR(exposed(seconds, before_end), std::max(1.0, 8 - backward), 0.01) << backward;
  }
}

// Lamy-Poirier, arXiv 2106.02679.
TEST(Bubble, HasThePaperShares) {
  for (const auto& [micro_batches, contiguous, modular] :
       {std::tuple{2, 50.0, 16.7}, {4, 25.0, 8.3}, {8, 12.5, 4.2}}) {
    EXPECT_NEAR(100 * bubble_share(bert::Pipeline::kContiguous, 2, 6, micro_batches), contiguous,
                0.05);
    EXPECT_NEAR(100 * bubble_share(bert::Pipeline::kModular, 2, 6, micro_batches), modular, 0.05);
  }
}

// Simulates all stages on one clock: a layer's forward takes 1, its backward 2, the heads `heads`,
// a message `travel`.
class SimulatedPipeline {
 public:
  using Kind = training::Task::Kind;

  SimulatedPipeline(bert::Pipeline pipeline, int stages, int layers, int micro_batches,
                    double heads, double travel)
      : heads_(heads), travel_(travel) {
    for (int stage = 0; stage < stages; ++stage) {
      schedules_.push_back(
          training::pipeline({stage, stages, pipeline}, layers + 2, micro_batches, false));
    }
    at_.resize(schedules_.size());
    clocks_.resize(schedules_.size());
  }

  // Runs until stage 0 ends its last backward.
  double run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < schedules_.size(); ++stage) {
        while (at_[stage] < schedules_[stage].tasks.size() && step(stage)) moved = true;
      }
    }
    EXPECT_EQ(at_[0], schedules_[0].tasks.size());
    return clocks_[0];
  }

 private:
  // Returns false if the message that it waits for has not been sent.
  bool step(size_t stage) {
    const training::Schedule& schedule = schedules_[stage];
    const training::Task& task = schedule.tasks[at_[stage]];
    const auto own = [&](int block) { return schedule.stage.has_block(block, schedule.blocks); };
    const bool is_layer = task.block > 0 && task.block + 1 < schedule.blocks;
    const bool forward = task.kind == Kind::kForward, backward = task.kind == Kind::kBackward;
    double& clock = clocks_[stage];
    if ((forward && task.block > 0 && !own(task.block - 1)) ||
        (backward && task.block + 1 < schedule.blocks && !own(task.block + 1))) {
      const auto sent = sent_.find({backward, task.block, task.micro_batch});
      if (sent == sent_.end()) return false;
      clock = std::max(clock, sent->second + travel_);
    }
    if (forward) clock += is_layer ? 1 : task.block > 0 ? heads_ : 0;
    if (backward && is_layer) clock += 2;
    if (task.kind == Kind::kSendOutput) sent_[{false, task.block + 1, task.micro_batch}] = clock;
    if (task.kind == Kind::kSendGradient) sent_[{true, task.block - 1, task.micro_batch}] = clock;
    ++at_[stage];
    return true;
  }

  double heads_, travel_;
  std::vector<training::Schedule> schedules_;
  std::vector<size_t> at_;
  std::vector<double> clocks_;
  std::map<std::tuple<bool, int, int>, double> sent_;  // by direction, receiver, micro-batch
};

TEST(Bubble, HeadsRunWhileTheFirstStageWaits) {
  constexpr int kMicroBatches = 6;
  for (const auto pipeline : {bert::Pipeline::kContiguous, bert::Pipeline::kModular}) {
    for (const auto& [stages, layers] : {std::pair(2, 6), {2, 2}, {3, 6}, {4, 8}}) {
      for (const double heads : {0.0, 0.25, 0.75, 1.5, 3.0}) {
        for (const double travel : {0.0, 0.125}) {
          const double ideal = 3.0 * kMicroBatches * layers / stages;
          const BubbleParts parts{.paper = bubble_share(pipeline, stages, layers, kMicroBatches),
                                  .heads = kMicroBatches * heads / ideal,
                                  .messages = 2 * (stages - 1) * travel / ideal};
          const double bubble =
              SimulatedPipeline(pipeline, stages, layers, kMicroBatches, heads, travel).run() /
                  ideal -
              1;
          EXPECT_NEAR(bubble, bubble_with(parts), 1e-12)
              << config::name_of(pipeline) << ", " << stages << " stages, " << layers
              << " layers, heads " << heads << ", travel " << travel;
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::bench
