#include "training/trace/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"

namespace strata::training {
namespace {

constexpr std::array<const char*, 5> kLaneNames = {"step", "compute", "clip and update",
                                                   "all-reduce", "gather weights"};

Lane lane_of(comm::BucketPhase phase) {
  switch (phase) {
    case comm::BucketPhase::kReduce:
      return Lane::kReduce;
    case comm::BucketPhase::kGather:
      return Lane::kGather;
    default:
      return Lane::kGradients;
  }
}

const char* name_of(comm::BucketPhase phase) {
  switch (phase) {
    case comm::BucketPhase::kClip:
      return "clip";
    case comm::BucketPhase::kReduce:
      return "reduce";
    case comm::BucketPhase::kNorm:
      return "norm";
    case comm::BucketPhase::kUpdate:
      return "update";
    case comm::BucketPhase::kFinish:
      return "finish";
    case comm::BucketPhase::kGather:
      return "gather";
  }
  return "";
}

// What happens to LateRows in this phase.
const char* name_of_rows(comm::BucketPhase phase) {
  if (phase == comm::BucketPhase::kReduce) return "reduce rows";
  return phase == comm::BucketPhase::kClip ? "collect rows" : "add rows";
}

// What names a rank's lanes and puts them in order.
std::string lane_descriptions(int rank) {
  std::string lines;
  const auto describe = [&](const char* what, size_t lane, const nlohmann::json& arguments) {
    const nlohmann::json event = {
        {"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", arguments}};
    lines += event.dump() + ",\n";
  };
  describe("process_name", 0, {{"name", fmt::format("rank {}", rank)}});
  describe("process_sort_index", 0, {{"sort_index", rank}});
  for (size_t lane = 0; lane < kLaneNames.size(); ++lane) {
    describe("thread_name", lane, {{"name", kLaneNames[lane]}});
    describe("thread_sort_index", lane, {{"sort_index", lane}});
  }
  return lines;
}

// `text` of rank `root`, on every rank.
std::string shared_text(comm::Communicator& communicator, std::string text, int root) {
  uint64_t size = text.size();
  communicator.broadcast(&size, sizeof size, root);
  text.resize(size);
  communicator.broadcast(text.data(), text.size(), root);
  return text;
}

}  // namespace

Timeline::Timeline(comm::Communicator& communicator) : communicator_(communicator) {
  communicator_.barrier();
  origin_ns_ = nanoseconds(Clock::now());
}

void Timeline::add(Lane lane, std::string name, int64_t begin_ns, int64_t end_ns) {
  spans_.push_back({lane, std::move(name), begin_ns, end_ns});
}

void Timeline::add(Lane lane, std::string name, Clock::time_point begin, Clock::time_point end) {
  add(lane, std::move(name), nanoseconds(begin), nanoseconds(end));
}

void Timeline::add(std::span<const comm::BucketEvent> events) {
  for (const comm::BucketEvent& event : events) {
    std::string name = event.bucket == comm::kNoBucket ? "exchange norms"
                       : event.bucket == comm::kLateRowsBucket
                           ? name_of_rows(event.phase)
                           : fmt::format("{} {}", name_of(event.phase), event.bucket);
    add(lane_of(event.phase), std::move(name), event.begin_ns, event.end_ns);
  }
}

std::string Timeline::to_json_events() const {
  std::string lines = lane_descriptions(communicator_.rank());
  for (const Span& span : spans_) {
    const nlohmann::json event = {{"ph", "X"},
                                  {"name", span.name},
                                  {"cat", kLaneNames[static_cast<size_t>(span.lane)]},
                                  {"pid", communicator_.rank()},
                                  {"tid", static_cast<int>(span.lane)},
                                  {"ts", 1e-3 * static_cast<double>(span.begin_ns - origin_ns_)},
                                  {"dur", 1e-3 * static_cast<double>(span.end_ns - span.begin_ns)}};
    lines += event.dump() + ",\n";
  }
  return lines;
}

void Timeline::write(const std::filesystem::path& path) const {
  std::string lines;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const std::string own = rank == communicator_.rank() ? to_json_events() : std::string();
    lines += shared_text(communicator_, own, rank);
  }
  if (communicator_.rank() != 0) return;
  lines.resize(lines.size() - std::string_view(",\n").size());
  write_file_atomically(path, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + lines + "\n]}\n");
}

}  // namespace strata::training
