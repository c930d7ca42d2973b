#include "training/trace/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files/files.h"
#include "base/text/json.h"

namespace strata::training {
namespace {

// The rows of a rank, from top to bottom: whole steps, then the lanes.
constexpr size_t kRows = 1 + comm::kLanes;
size_t row_of(const std::optional<comm::Lane>& lane) {
  return lane ? 1 + static_cast<size_t>(*lane) : 0;
}
const char* name_of_row(size_t row) {
  return row == 0 ? "step" : name_of(static_cast<comm::Lane>(row - 1));
}

// Events that name a rank's lanes and sort them.
std::string lane_descriptions(int rank, const std::string& rank_name) {
  std::string lines;
  const auto describe = [&](const char* what, size_t lane, const nlohmann::json& arguments) {
    const nlohmann::json event = {
        {"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", arguments}};
    lines += json_text(event) + ",\n";
  };
  describe("process_name", 0, {{"name", rank_name}});
  describe("process_sort_index", 0, {{"sort_index", rank}});
  for (size_t row = 0; row < kRows; ++row) {
    describe("thread_name", row, {{"name", name_of_row(row)}});
    describe("thread_sort_index", row, {{"sort_index", row}});
  }
  return lines;
}

// Returns `text` of rank `root` on every rank.
std::string shared_text(comm::Communicator& communicator, std::string text, int root) {
  uint64_t size = text.size();
  communicator.broadcast(&size, sizeof size, root);
  text.resize(size);
  communicator.broadcast(text.data(), text.size(), root);
  return text;
}

}  // namespace

std::string name_in_timeline(comm::Operation::Kind kind, int object,
                             std::span<const std::string> blocks) {
  const std::string name = name_of(kind);
  if (object == comm::kNoObject) return name;
  return is_of_bucket(kind) ? fmt::format("{} {}", name, object)
                            : name + " " + blocks[static_cast<size_t>(object)];
}

std::string timeline_events(int rank, const std::string& rank_name,
                            std::span<const TimelineSpan> spans, int64_t origin_ns) {
  std::string lines = lane_descriptions(rank, rank_name);
  for (const TimelineSpan& span : spans) {
    const size_t row = row_of(span.lane);
    const nlohmann::json event = {{"ph", "X"},
                                  {"name", span.name},
                                  {"cat", name_of_row(row)},
                                  {"pid", rank},
                                  {"tid", static_cast<int>(row)},
                                  {"ts", 1e-3 * static_cast<double>(span.begin_ns - origin_ns)},
                                  {"dur", 1e-3 * static_cast<double>(span.end_ns - span.begin_ns)}};
    lines += json_text(event) + ",\n";
  }
  return lines;
}

void write_timeline(const std::filesystem::path& path, std::string events) {
  events.resize(events.size() - std::string_view(",\n").size());
  write_file_atomically(path,
                        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n");
}

Timeline::Timeline(comm::Communicator& communicator) : communicator_(communicator) {
  communicator_.barrier();
  origin_ns_ = nanoseconds(Clock::now());
}

void Timeline::add_step(std::string name, Clock::time_point begin, Clock::time_point end) {
  spans_.push_back({std::nullopt, std::move(name), nanoseconds(begin), nanoseconds(end)});
}

void Timeline::add(comm::Lane lane, std::string name, int64_t begin_ns, int64_t end_ns) {
  spans_.push_back({lane, std::move(name), begin_ns, end_ns});
}

void Timeline::add(std::span<const comm::OperationTime> operations,
                   std::span<const std::string> blocks) {
  for (const comm::OperationTime& operation : operations) {
    add(operation.lane, name_in_timeline(operation.kind, operation.object, blocks),
        operation.begin_ns, operation.end_ns);
  }
}

void Timeline::write(const std::filesystem::path& path) const {
  std::string lines;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const std::string own =
        rank == communicator_.rank()
            ? timeline_events(rank, fmt::format("rank {}", rank), spans_, origin_ns_)
            : std::string();
    lines += shared_text(communicator_, own, rank);
  }
  if (communicator_.rank() == 0) write_timeline(path, std::move(lines));
}

}  // namespace strata::training
