#include "training/trace/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/support/temporary_directory.h"

namespace strata::training {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

class TimelineTest : public testing_support::TemporaryDirectory {
 protected:
  json written(const Timeline& timeline) {
    timeline.write(directory_ / "timeline.json");
    return json::parse(read_file(directory_ / "timeline.json"));
  }

  static std::vector<json> spans(const json& trace) {
    std::vector<json> result;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] == "X") result.push_back(event);
    }
    return result;
  }

  std::unique_ptr<comm::Communicator> single_rank_ = comm::make_single_communicator();
};

TEST_F(TimelineTest, IsAChromeTraceOfMicroseconds) {
  Timeline timeline(*single_rank_);
  const auto begin = Clock::now();
  timeline.add(comm::Lane::kCompute, "forward", nanoseconds(begin),
               nanoseconds(begin + microseconds(1500)));
  const json trace = written(timeline);
  const auto all = spans(trace);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["name"], "forward");
  EXPECT_EQ(all[0]["pid"], 0);
  EXPECT_NEAR(all[0]["dur"].get<double>(), 1500, 1e-6);
  EXPECT_GE(all[0]["ts"].get<double>(), 0) << "time starts with the timeline";
}

TEST_F(TimelineTest, NamesOfAnyBytesMakeAValidTrace) {
  Timeline timeline(*single_rank_);
  timeline.add(comm::Lane::kCompute, "caf\xe9", nanoseconds(Clock::now()),
               nanoseconds(Clock::now()));
  const auto all = spans(written(timeline));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["name"], "caf\uFFFD");
}

TEST_F(TimelineTest, EveryLaneHasANameAndItsOwnSpans) {
  Timeline timeline(*single_rank_);
  using enum comm::Operation::Kind;
  constexpr auto kArithmetic = comm::Lane::kArithmetic, kCollectives = comm::Lane::kCollectives;
  const std::vector<comm::OperationTime> events = {
      {kClip, 3, kArithmetic, 10, 20},
      {kReduce, 3, kCollectives, 20, 30},
      {kReduceNorm, comm::kNoObject, kCollectives, 30, 35},
      {kCastBack, 3, kArithmetic, 35, 36},
      {kUpdate, 3, kArithmetic, 36, 40},
      {kGatherUpdated, 3, comm::Lane::kGathers, 40, 50},
      {kCollectRows, comm::kNoObject, kArithmetic, 50, 51},
      {kReduceRows, comm::kNoObject, kCollectives, 51, 52},
      {kAddRows, comm::kNoObject, kArithmetic, 52, 55}};
  timeline.add(events);
  timeline.add_step("step 1", Clock::now(), Clock::now());
  timeline.add(comm::Lane::kCompute, "forward", 60, 70);
  const json trace = written(timeline);
  std::map<int, std::string> lanes;
  std::map<int, std::string> in_order;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") lanes[event["tid"]] = event["args"]["name"];
    if (event["name"] == "thread_sort_index") {
      in_order[event["args"]["sort_index"]] = lanes.at(event["tid"]);
    }
  }
  EXPECT_EQ(in_order, (std::map<int, std::string>{{0, "step"},
                                                  {1, "compute"},
                                                  {2, "arithmetic"},
                                                  {3, "collectives"},
                                                  {4, "gathers"},
                                                  {5, "messages"}}));
  std::map<std::string, std::string> lane_of;
  for (const json& span : spans(trace)) lane_of[span["name"]] = lanes.at(span["tid"]);
  const std::map<std::string, std::string> expected = {
      {"clip 3", "arithmetic"},       {"reduce 3", "collectives"},
      {"reduce_norm", "collectives"}, {"cast_back 3", "arithmetic"},
      {"update 3", "arithmetic"},     {"gather_updated 3", "gathers"},
      {"collect_rows", "arithmetic"}, {"reduce_rows", "collectives"},
      {"add_rows", "arithmetic"},     {"step 1", "step"},
      {"forward", "compute"}};
  EXPECT_EQ(lane_of, expected);
  for (const json& span : spans(trace)) {
    const double duration = span["dur"].get<double>();
    if (span["name"] == "collect_rows") {
      EXPECT_NEAR(duration, 0.001, 1e-6);
    } else if (span["name"] == "add_rows") {
      EXPECT_NEAR(duration, 0.003, 1e-6);
    }
  }
}

class Meeting : public comm::MirrorCommunicator {
 public:
  void barrier() override { met.push_back(Clock::now()); }
  std::vector<Clock::time_point> met;
};

// Otherwise the spans of several ranks could not be compared.
TEST_F(TimelineTest, BeginsAfterABarrierOfTheRanks) {
  Meeting ranks;
  Timeline timeline(ranks);
  ASSERT_EQ(ranks.met.size(), 1u);
  timeline.add_step("at the meeting", ranks.met[0], ranks.met[0]);
  EXPECT_LE(spans(written(timeline)).at(0)["ts"].get<double>(), 0.0);
}

// The other of two ranks, whose events are one line.
class OtherRank : public comm::MirrorCommunicator {
 public:
  void broadcast(void* data, size_t bytes, int root) override {
    if (root != 1) return;
    if (!told_size_) {
      ASSERT_EQ(bytes, sizeof(uint64_t));
      *static_cast<uint64_t*>(data) = line_.size();
    } else {
      ASSERT_EQ(bytes, line_.size()) << "ranks give different sizes";
      std::ranges::copy(line_, static_cast<char*>(data));
    }
    told_size_ = true;
  }

 private:
  const std::string line_ =
      R"({"ph": "X", "name": "elsewhere", "pid": 1, "tid": 0, "ts": 1, "dur": 2})"
      ",\n";
  bool told_size_ = false;
};

TEST_F(TimelineTest, HoldsTheSpansOfEveryRank) {
  OtherRank ranks;
  Timeline timeline(ranks);
  timeline.add_step("here", Clock::now(), Clock::now());
  const auto all = spans(written(timeline));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["name"], "here");
  EXPECT_EQ(all[1]["name"], "elsewhere");
}

TEST_F(TimelineTest, APlaceThatCannotBeWrittenIsNamed) {
  write_file_atomically(directory_ / "file", "");
  EXPECT_THROW(Timeline(*single_rank_).write(directory_ / "file" / "timeline.json"), Error);
}

}  // namespace
}  // namespace strata::training
