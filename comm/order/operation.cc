#include "comm/order/operation.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace strata::comm {

const char* name_of(Lane lane) {
  constexpr std::array<const char*, kLanes> kNames = {"compute", "arithmetic", "collectives",
                                                      "gathers", "messages"};
  return kNames[static_cast<size_t>(lane)];
}

const char* name_of(Operation::Kind kind) {
  constexpr const char* kNames[] = {
      "gather",        "forward",        "recompute",       "backward",
      "backward_half", "backward_rest",  "stash",           "ready",
      "freeze",        "receive_input",  "send_output",     "receive_gradient",
      "send_gradient", "end_backward",   "touched_rows",    "rows_ready",
      "norm",          "clip",           "reduce",          "cast_back",
      "reduce_norm",   "check_overflow", "reduce_overflow", "reduce_touched",
      "collect_rows",  "reduce_rows",    "add_rows",        "update",
      "reduce_sums",   "finish_update",  "gather_updated"};
  static_assert(std::size(kNames) == static_cast<size_t>(Operation::Kind::kGatherUpdated) + 1);
  return kNames[static_cast<size_t>(kind)];
}

int OperationList::add(Operation operation) {
  const int place = size();
  std::ranges::sort(operation.after);
  const auto repeated = std::ranges::unique(operation.after);
  operation.after.erase(repeated.begin(), repeated.end());
  for (const int before : operation.after) {
    if (before < 0 || before >= place) {
      fail("operation {}, {} of {}: depends on operation {}, which is not in the list yet", place,
           name_of(operation.kind), operation.object, before);
    }
    followers_[static_cast<size_t>(before)].push_back(place);
  }
  lanes_[static_cast<size_t>(operation.lane)].push_back(place);
  if (operation.kind == Operation::Kind::kEndBackward && end_of_backward_ < 0) {
    end_of_backward_ = place;
  }
  followers_.emplace_back();
  operations_.push_back(std::move(operation));
  return place;
}

bool OperationList::crosses_lanes(int place) const {
  return std::ranges::any_of(followers(place), [&](int follower) {
    return (*this)[follower].lane != (*this)[place].lane;
  });
}

}  // namespace strata::comm
