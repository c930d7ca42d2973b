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
constexpr size_t kStepRow = 0, kRows = 1 + comm::kLanes;
size_t row_of(comm::Lane lane) { return 1 + static_cast<size_t>(lane); }
const char* name_of_row(size_t row) {
  return row == kStepRow ? "step" : name_of(static_cast<comm::Lane>(row - 1));
}

// Events that name a rank's lanes and sort them.
std::string lane_descriptions(int rank) {
  std::string lines;
  const auto describe = [&](const char* what, size_t lane, const nlohmann::json& arguments) {
    const nlohmann::json event = {
        {"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", arguments}};
    lines += json_text(event) + ",\n";
  };
  describe("process_name", 0, {{"name", fmt::format("rank {}", rank)}});
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

Timeline::Timeline(comm::Communicator& communicator) : communicator_(communicator) {
  communicator_.barrier();
  origin_ns_ = nanoseconds(Clock::now());
}

void Timeline::add(size_t row, std::string name, int64_t begin_ns, int64_t end_ns) {
  spans_.push_back({row, std::move(name), begin_ns, end_ns});
}

void Timeline::add_step(std::string name, Clock::time_point begin, Clock::time_point end) {
  add(kStepRow, std::move(name), nanoseconds(begin), nanoseconds(end));
}

void Timeline::add(comm::Lane lane, std::string name, int64_t begin_ns, int64_t end_ns) {
  add(row_of(lane), std::move(name), begin_ns, end_ns);
}

void Timeline::add(std::span<const comm::OperationTime> operations,
                   std::span<const std::string> blocks) {
  for (const comm::OperationTime& operation : operations) {
    std::string name = name_of(operation.kind);
    if (is_of_bucket(operation.kind) && operation.object != comm::kNoObject) {
      name += fmt::format(" {}", operation.object);
    } else if (operation.object != comm::kNoObject) {
      name += " " + blocks[static_cast<size_t>(operation.object)];
    }
    add(operation.lane, std::move(name), operation.begin_ns, operation.end_ns);
  }
}

std::string Timeline::to_json_events() const {
  std::string lines = lane_descriptions(communicator_.rank());
  for (const Span& span : spans_) {
    const nlohmann::json event = {{"ph", "X"},
                                  {"name", span.name},
                                  {"cat", name_of_row(span.row)},
                                  {"pid", communicator_.rank()},
                                  {"tid", static_cast<int>(span.row)},
                                  {"ts", 1e-3 * static_cast<double>(span.begin_ns - origin_ns_)},
                                  {"dur", 1e-3 * static_cast<double>(span.end_ns - span.begin_ns)}};
    lines += json_text(event) + ",\n";
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
