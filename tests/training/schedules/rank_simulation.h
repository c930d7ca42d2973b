// Simulates all ranks of a pipeline. Each runs its schedule on its own clock.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "training/schedules/schedule.h"

namespace strata::training {

// A message between ranks: a block's output, or its gradient, for a micro-batch.
struct Message {
  bool gradient;
  int block, micro_batch;

  auto operator<=>(const Message&) const = default;
};
inline bool sends(const Task& task) {
  return task.kind == Task::Kind::kSendOutput || task.kind == Task::Kind::kSendGradient;
}
inline bool receives(const Task& task) {
  return task.kind == Task::Kind::kReceiveInput || task.kind == Task::Kind::kReceiveGradient;
}
inline Message message_of(const Task& task, int micro_batch) {
  using enum Task::Kind;
  const bool gradient = task.kind == kSendGradient || task.kind == kReceiveGradient;
  const bool before = task.kind == kReceiveInput || task.kind == kSendGradient;
  return {gradient, task.block - (before ? 1 : 0), micro_batch};
}

// A task of step `now`. `of` is its micro-batch, counted over all steps. Tasks of micro-batches
// before step 1 are left out.
struct Walked {
  Task task;
  int now, of;
};
inline std::vector<Walked> walk(const Schedule& schedule, int steps) {
  std::vector<Walked> walked;
  for (int now = 1; now <= steps; ++now) {
    for (const Task& task : schedule.tasks) {
      const int begun = now - lag_of(schedule, task);
      const int of = begun * schedule.micro_batches + task.micro_batch;
      if (begun >= 1) walked.push_back({task, now, of});
    }
  }
  return walked;
}

// When a message travels: when both sides are ready, or also only after all earlier messages of its
// sender and its receiver, as if each had one stream for messages.
enum class Travel : uint8_t { kFreely, kInTurn };

// Messages, embeddings and heads take no time. At an update, all messages of its rank have arrived.
class RankSimulation {
 public:
  // The time of a layer's forward or backward.
  using Duration = std::function<double(const Schedule&, const Task&)>;

  RankSimulation(const std::vector<Schedule>& schedules, int steps, Duration duration,
                 Travel travel)
      : schedules_(schedules),
        duration_(std::move(duration)),
        travel_(travel),
        at_(schedules.size()),
        clocks_(schedules.size()),
        updates_(static_cast<size_t>(steps)) {
    for (const Schedule& schedule : schedules) walked_.push_back(walk(schedule, steps));
  }

  // Returns when the slowest rank ends each step, or nullopt if ranks wait for each other for ever.
  std::optional<std::vector<double>> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < at_.size(); ++rank) {
        while (at_[rank] < walked_[rank].size() && step(rank)) moved = true;
      }
    }
    for (size_t rank = 0; rank < at_.size(); ++rank) {
      if (at_[rank] < walked_[rank].size()) return std::nullopt;
    }
    return updates_;
  }

 private:
  struct Ends {
    std::optional<double> sent, received;
    std::optional<Message> sent_before, received_before;  // by the same ranks
  };

  // Returns when the message arrives, or nullopt if this is not known yet.
  std::optional<double> arrival(const Message& message) {
    if (const auto known = arrivals_.find(message); known != arrivals_.end()) return known->second;
    const Ends& ends = messages_[message];
    if (!ends.sent || !ends.received) return std::nullopt;
    double time = std::max(*ends.sent, *ends.received);
    for (const auto& before : {ends.sent_before, ends.received_before}) {
      if (!before || travel_ == Travel::kFreely) continue;
      const std::optional<double> earlier = arrival(*before);
      if (!earlier) return std::nullopt;
      time = std::max(time, *earlier);
    }
    return arrivals_[message] = time;
  }
  // Waits for the message. Returns false if its arrival is not known yet.
  bool wait_for(size_t rank, const Message& message) {
    const std::optional<double> time = arrival(message);
    if (!time) return false;
    clocks_[rank] = std::max(clocks_[rank], *time);
    return true;
  }

  bool step(size_t rank) {
    using enum Task::Kind;
    const Schedule& schedule = schedules_[rank];
    const auto& [task, now, of] = walked_[rank][at_[rank]];
    const bool is_layer = task.block > 0 && task.block + 1 < schedule.blocks;
    const auto own = [&](int block) { return schedule.stage.has_block(block, schedule.blocks); };
    if (task.kind == kForward && task.block > 0 && !own(task.block - 1)) {
      if (!wait_for(rank, {false, task.block - 1, of})) return false;
    }
    if (task.kind == kBackward && task.block + 1 < schedule.blocks && !own(task.block + 1)) {
      if (!wait_for(rank, {true, task.block, of})) return false;
    }
    // A received message uses the memory of a sent one, which must have left.
    for (const Message& sent : sent_gradients_[rank]) {
      if (task.kind == kReceiveGradient && sent.micro_batch == of && !wait_for(rank, sent)) {
        return false;
      }
    }
    if (task.kind == kUpdate) {
      for (const Message& message : under_way_[rank]) {
        if (!wait_for(rank, message)) return false;
      }
      under_way_[rank].clear();
      sent_gradients_[rank].clear();
      double& update = updates_[static_cast<size_t>(now - 1)];
      update = std::max(update, clocks_[rank]);
    }
    if (sends(task) || receives(task)) {
      const Message message = message_of(task, of);
      Ends& ends = messages_[message];
      auto& before = sends(task) ? last_sent_[rank] : last_received_[rank];
      (sends(task) ? ends.sent : ends.received) = clocks_[rank];
      (sends(task) ? ends.sent_before : ends.received_before) = std::exchange(before, message);
      under_way_[rank].insert(message);
      if (task.kind == kSendGradient) sent_gradients_[rank].insert(message);
    }
    if (is_layer && (task.kind == kForward || task.kind == kBackward)) {
      clocks_[rank] += duration_(schedule, task);
    }
    ++at_[rank];
    return true;
  }

  const std::vector<Schedule>& schedules_;
  Duration duration_;
  Travel travel_;
  std::vector<std::vector<Walked>> walked_;
  std::vector<size_t> at_;  // next task of each rank
  std::vector<double> clocks_, updates_;
  std::map<Message, Ends> messages_;
  std::map<Message, double> arrivals_;
  std::map<size_t, std::set<Message>> under_way_, sent_gradients_;  // by rank
  std::map<size_t, std::optional<Message>> last_sent_, last_received_;
};

}  // namespace strata::training
