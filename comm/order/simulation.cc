#include "comm/order/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"

namespace strata::comm {
namespace {

using enum Operation::Kind;

// A thread or a stream, which runs one operation at a time.
struct Worker {
  bool keeps_order = true;      // runs `operations` in order; else the first of `ready`
  std::vector<int> operations;  // in list order; empty unless keeps_order
  size_t begun = 0;             // number of `operations` that have begun
  std::set<int> ready;          // operations that may begin; empty if keeps_order
};

struct RankState {
  const OperationList* list = nullptr;
  std::vector<std::vector<int>> followers;
  std::vector<int> missing;  // [operations] number of unfinished dependencies
  std::vector<bool> begun;
  std::vector<Worker> workers;
  std::vector<size_t> worker;  // [operations] the worker that runs it
  std::vector<size_t> thread;  // [workers] the thread of each; workers may share one
  std::vector<int> running;    // [threads] the operation that each runs, or kNoObject
  std::deque<int> messages;    // sends that have not left; the first is leaving
  int open_messages = 0;       // begun sends and receives that have not ended
  int collectives = 0;         // collectives under way, which slow compute down
};

// Returns, for each operation, those that it waits for on streams. An event of Stream::kCompute
// covers everything issued before it. Like StreamExecutor, records an event when it is first
// needed, and drops it where may_be_captured changes from one operation to the next.
std::vector<std::vector<int>> waits_on_streams(const OperationList& list) {
  std::vector<std::vector<int>> waits(static_cast<size_t>(list.size()));
  int recorded = kNoObject, last_computed = kNoObject, recorded_after = kNoObject;
  for (int place = 0; place < list.size(); ++place) {
    const Operation& operation = list[place];
    if (place > 0 && operation.may_be_captured != list[place - 1].may_be_captured) {
      recorded = kNoObject;
    }
    std::vector<int>& after = waits[static_cast<size_t>(place)];
    if (is_callers(operation.lane)) {
      after = operation.after;
      last_computed = place;
      continue;
    }
    if (operation.after.empty() && last_computed != kNoObject) after.push_back(last_computed);
    for (const int before : operation.after) {
      if (!is_callers(list[before].lane)) {
        after.push_back(before);
        continue;
      }
      if (recorded <= before) {
        recorded = place;
        recorded_after = last_computed;
      }
      after.push_back(recorded_after);
    }
    std::ranges::sort(after);
    const auto repeated = std::ranges::unique(after);
    after.erase(repeated.begin(), repeated.end());
  }
  return waits;
}

std::vector<std::vector<int>> waits_of(const OperationList& list, SimulatedExecutor executor) {
  if (executor == SimulatedExecutor::kStreams) return waits_on_streams(list);
  std::vector<std::vector<int>> waits;
  for (const Operation& operation : list.operations()) waits.push_back(operation.after);
  return waits;
}

class Simulation {
 public:
  Simulation(std::span<const SimulatedRank> ranks, const SimulationOptions& options)
      : ranks_(ranks), options_(options) {
    for (size_t rank = 0; rank < ranks.size(); ++rank) add_rank(rank);
  }

  SimulatedStep run() {
    for (;;) {
      while (begin_ready_operations()) {
      }
      if (activities_.empty()) break;
      advance();
    }
    for (size_t rank = 0; rank < states_.size(); ++rank) check_ended(rank);
    result_.seconds = now_;
    return std::move(result_);
  }

 private:
  struct Place {
    size_t rank;
    int operation;
  };
  // An operation in progress: one rank's own work, a collective or a message.
  struct Activity {
    double remaining = 0;  // seconds at full speed
    double latency = 0;    // seconds that follow `remaining`
    bool uses_link = false;
    bool is_message = false;
    std::vector<Place> places;
  };
  // A collective that some of its ranks have begun.
  struct Meeting {
    std::vector<Place> begun;
    double seconds = 0, latency = 0;
  };

  void add_rank(size_t number) {
    const SimulatedRank& rank = ranks_[number];
    const OperationList& list = *rank.list;
    if (std::ssize(rank.costs) != list.size()) {
      fail("simulated rank {}: has {} costs for {} operations", number, rank.costs.size(),
           list.size());
    }
    RankState state{.list = &list};
    state.begun.resize(rank.costs.size());
    state.followers.resize(rank.costs.size());
    const std::vector<std::vector<int>> waits = waits_of(list, options_.executor);
    for (int place = 0; place < list.size(); ++place) {
      const std::vector<int>& after = waits[static_cast<size_t>(place)];
      state.missing.push_back(static_cast<int>(after.size()));
      for (const int before : after) state.followers[static_cast<size_t>(before)].push_back(place);
      const OperationCost& cost = rank.costs[static_cast<size_t>(place)];
      if (!(cost.seconds >= 0) || !(cost.latency >= 0) || std::isinf(cost.seconds) ||
          std::isinf(cost.latency)) {
        fail("simulated {}: its time must be finite and at least 0", described(number, place));
      }
      const Lane lane = list[place].lane;
      if (is_communication(lane) && cost.meets != kNoObject) {
        std::vector<size_t>& members = members_[cost.meets];
        if (members.empty() || members.back() != number) members.push_back(number);
      }
      if (lane == Lane::kMessages && cost.meets == kNoObject) {
        fail("simulated {}: a message needs a number", described(number, place));
      }
    }
    add_workers(list, state);
    for (int place = 0; place < list.size(); ++place) {
      if (state.missing[static_cast<size_t>(place)] == 0) note_ready(state, place);
    }
    state.running.assign(state.workers.size(), kNoObject);
    states_.push_back(std::move(state));
    result_.spans.emplace_back(rank.costs.size());
  }

  // Adds a worker for every thread or stream of the rank, with its lanes: see Executor.
  void add_workers(const OperationList& list, RankState& state) const {
    const bool streams = options_.executor == SimulatedExecutor::kStreams;
    state.worker.resize(static_cast<size_t>(list.size()));
    const auto add = [&](bool keeps_order, const auto& runs) {
      Worker worker{.keeps_order = keeps_order};
      for (int place = 0; place < list.size(); ++place) {
        if (!runs(list[place].lane)) continue;
        if (keeps_order) worker.operations.push_back(place);
        state.worker[static_cast<size_t>(place)] = state.workers.size();
      }
      state.thread.push_back(state.workers.size());
      state.workers.push_back(std::move(worker));
    };
    add(true, is_callers);
    if (streams) {
      add(true, [](Lane lane) { return !is_callers(lane); });
      return;
    }
    add(false, [](Lane lane) { return lane == Lane::kArithmetic; });
    if (list.lane(Lane::kCollectives).empty()) state.thread.back() = 0;  // the caller's own thread
    add(true, [](Lane lane) { return lane == Lane::kCollectives; });
    add(true, [](Lane lane) { return lane == Lane::kGathers; });
  }

  // ---- Beginning operations.

  bool begin_ready_operations() {
    bool any = false;
    for (size_t rank = 0; rank < states_.size(); ++rank) {
      for (size_t worker = 0; worker < states_[rank].workers.size(); ++worker) {
        while (begin_next(rank, worker)) any = true;
      }
    }
    return any;
  }

  bool begin_next(size_t rank, size_t number) {
    RankState& state = states_[rank];
    int& running = state.running[state.thread[number]];
    if (running != kNoObject) return false;
    const int place = take(state, state.workers[number]);
    if (place == kNoObject) return false;
    running = place;
    begin(rank, place);
    return true;
  }

  // Returns the worker's operation that begins next, or kNoObject if none may begin.
  static int take(const RankState& state, Worker& worker) {
    if (!worker.keeps_order) {
      return worker.ready.empty() ? kNoObject : worker.ready.extract(worker.ready.begin()).value();
    }
    if (worker.begun == worker.operations.size()) return kNoObject;
    const int next = worker.operations[worker.begun];
    return may_begin(state, next) ? worker.operations[worker.begun++] : kNoObject;
  }

  static bool may_begin(const RankState& state, int place) {
    if (state.missing[static_cast<size_t>(place)] > 0) return false;
    // Backward ends when all messages have arrived.
    return (*state.list)[place].kind != kEndBackward || state.open_messages == 0;
  }

  void begin(size_t rank, int place) {
    RankState& state = states_[rank];
    const Operation& operation = (*state.list)[place];
    state.begun[static_cast<size_t>(place)] = true;
    result_.spans[rank][static_cast<size_t>(place)].begin = now_;
    const OperationCost& cost = cost_of({rank, place});
    if (operation.lane == Lane::kMessages) {
      begin_message(rank, place);
    } else if (is_communication(operation.lane)) {
      begin_collective({rank, place}, cost);
    } else {
      activities_.push_back({.remaining = cost.seconds, .places = {{rank, place}}});
    }
  }

  // Messages overlap with other work, so they leave their thread free.
  void begin_message(size_t rank, int place) {
    RankState& state = states_[rank];
    stop_running(state, place);
    ++state.open_messages;
    if (!is_send((*state.list)[place].kind)) return receive({rank, place});
    mark_done(rank, place);
    state.messages.push_back(place);
    if (state.messages.size() == 1) send_next(rank);
  }
  void send_next(size_t rank) {
    std::deque<int>& messages = states_[rank].messages;
    while (!messages.empty()) {
      const int place = messages.front();
      result_.spans[rank][static_cast<size_t>(place)].begin = now_;
      const OperationCost& cost = cost_of({rank, place});
      activities_.push_back({.remaining = cost.seconds,
                             .latency = cost.latency,
                             .uses_link = true,
                             .is_message = true,
                             .places = {{rank, place}}});
      if (cost.seconds > 0) return;
      messages.pop_front();
    }
  }
  void receive(const Place& receipt) {
    const int message = cost_of(receipt).meets;
    if (arrived_.contains(message)) return end_receive(receipt);
    awaited_[message] = receipt;
  }

  void begin_collective(const Place& place, const OperationCost& cost) {
    ++states_[place.rank].collectives;
    if (cost.meets == kNoObject) {
      activities_.push_back({.remaining = cost.seconds,
                             .latency = cost.latency,
                             .uses_link = true,
                             .places = {place}});
      return;
    }
    // A rank waits in one collective before it begins the next, so a communicator has one meeting.
    Meeting& meeting = meetings_[cost.meets];
    meeting.begun.push_back(place);
    meeting.seconds = std::max(meeting.seconds, cost.seconds);
    meeting.latency = std::max(meeting.latency, cost.latency);
    if (meeting.begun.size() < members_[cost.meets].size()) return;
    activities_.push_back({.remaining = meeting.seconds,
                           .latency = meeting.latency,
                           .uses_link = true,
                           .places = std::move(meeting.begun)});
    meetings_.erase(cost.meets);
  }

  // ---- Letting time pass.

  void advance() {
    std::vector<int> sharing(states_.size());
    for (const Activity& activity : activities_) {
      if (!activity.uses_link || activity.remaining <= 0) continue;
      for (const Place& place : activity.places) ++sharing[place.rank];
    }
    std::vector<double> speeds;
    double next = std::numeric_limits<double>::infinity();
    for (const Activity& activity : activities_) {
      speeds.push_back(speed_of(activity, sharing));
      next = std::min(next, rest_of(activity) / speeds.back());
    }
    now_ += next;
    std::vector<Activity> ended;
    for (size_t i = 0; i < activities_.size(); ++i) {
      Activity& activity = activities_[i];
      const bool was_leaving = activity.is_message && activity.remaining > 0;
      double& rest = activity.remaining > 0 ? activity.remaining : activity.latency;
      rest -= next * speeds[i];
      // Rounding errors can leave a tiny rest.
      if (rest < kRounding) rest = 0;
      if (was_leaving && activity.remaining <= 0) departed_.push_back(activity.places.front().rank);
      if (activity.remaining <= 0 && activity.latency <= 0) ended.push_back(activity);
    }
    std::erase_if(activities_, [](const Activity& activity) {
      return activity.remaining <= 0 && activity.latency <= 0;
    });
    for (const Activity& activity : ended) end(activity);
    for (const size_t rank : std::exchange(departed_, {})) {
      states_[rank].messages.pop_front();
      send_next(rank);
    }
  }

  static double rest_of(const Activity& activity) {
    return activity.remaining > 0 ? activity.remaining : activity.latency;
  }

  double speed_of(const Activity& activity, const std::vector<int>& sharing) const {
    if (activity.uses_link) {
      if (activity.remaining <= 0) return 1;
      int most = 1;
      for (const Place& place : activity.places) most = std::max(most, sharing[place.rank]);
      return 1.0 / most;
    }
    const Place& place = activity.places.front();
    const RankState& state = states_[place.rank];
    const bool slowed =
        state.collectives > 0 && (*state.list)[place.operation].lane == Lane::kCompute;
    return slowed ? options_.compute_speed_in_collectives : 1;
  }

  void end(const Activity& activity) {
    if (activity.is_message) return arrive(activity.places.front());
    for (const Place& place : activity.places) {
      RankState& state = states_[place.rank];
      if (activity.uses_link) --state.collectives;
      result_.spans[place.rank][static_cast<size_t>(place.operation)].end = now_;
      stop_running(state, place.operation);
      mark_done(place.rank, place.operation);
    }
  }

  void arrive(const Place& send) {
    result_.spans[send.rank][static_cast<size_t>(send.operation)].end = now_;
    --states_[send.rank].open_messages;
    const int message = cost_of(send).meets;
    arrived_.insert(message);
    const auto awaited = awaited_.find(message);
    if (awaited != awaited_.end()) end_receive(awaited->second);
  }
  void end_receive(const Place& receipt) {
    result_.spans[receipt.rank][static_cast<size_t>(receipt.operation)].end = now_;
    --states_[receipt.rank].open_messages;
    mark_done(receipt.rank, receipt.operation);
  }

  static void note_ready(RankState& state, int place) {
    Worker& worker = state.workers[state.worker[static_cast<size_t>(place)]];
    if (!worker.keeps_order) worker.ready.insert(place);
  }
  static void stop_running(RankState& state, int place) {
    *std::ranges::find(state.running, place) = kNoObject;
  }
  void mark_done(size_t rank, int place) {
    RankState& state = states_[rank];
    for (const int follower : state.followers[static_cast<size_t>(place)]) {
      if (--state.missing[static_cast<size_t>(follower)] == 0) note_ready(state, follower);
    }
  }

  // ---- Errors.

  const OperationCost& cost_of(const Place& place) const {
    return ranks_[place.rank].costs[static_cast<size_t>(place.operation)];
  }
  std::string described(size_t rank, int place) const {
    const Operation& operation = (*ranks_[rank].list)[place];
    return fmt::format("rank {}, operation {}: {} of {}", rank, place, name_of(operation.kind),
                       operation.object);
  }
  void check_ended(size_t rank) const {
    const RankState& state = states_[rank];
    for (int place = 0; place < state.list->size(); ++place) {
      if (!state.begun[static_cast<size_t>(place)]) {
        fail("simulated {}: never begins, because ranks wait for each other",
             described(rank, place));
      }
    }
    if (std::ranges::any_of(state.running, [](int place) { return place != kNoObject; })) {
      fail("simulated {}: never ends, because other ranks do not begin it",
           described(rank, last_running(state)));
    }
    if (state.open_messages > 0) {
      fail("simulated rank {}: waits for a message that no rank sends", rank);
    }
  }
  static int last_running(const RankState& state) {
    return *std::ranges::max_element(state.running);
  }

  static constexpr double kRounding = 1e-13;  // seconds

  std::span<const SimulatedRank> ranks_;
  SimulationOptions options_;
  std::vector<RankState> states_;
  std::map<int, std::vector<size_t>> members_;  // ranks of each communicator
  std::map<int, Meeting> meetings_;  // by communicator: the collective that waits for ranks
  std::set<int> arrived_;            // messages that have arrived
  std::map<int, Place> awaited_;     // by message: the receive that waits for it
  std::vector<size_t> departed_;     // ranks whose first message has just left
  std::vector<Activity> activities_;
  double now_ = 0;
  SimulatedStep result_;
};

}  // namespace

SimulatedStep simulate(std::span<const SimulatedRank> ranks, const SimulationOptions& options) {
  const double speed = options.compute_speed_in_collectives;
  if (!(speed > 0 && speed <= 1)) {
    fail("compute_speed_in_collectives {}: must be above 0 and at most 1", speed);
  }
  return Simulation(ranks, options).run();
}

int64_t nanoseconds(double seconds) { return std::llround(1e9 * seconds); }

std::vector<OperationTime> operation_times(const OperationList& list,
                                           std::span<const SimulatedSpan> spans) {
  std::vector<OperationTime> times;
  for (int place = 0; place < list.size(); ++place) {
    const Operation& operation = list[place];
    if (!is_timed(operation)) continue;
    const SimulatedSpan& span = spans[static_cast<size_t>(place)];
    times.push_back({operation.kind, operation.object, operation.lane, nanoseconds(span.begin),
                     nanoseconds(span.end)});
  }
  std::ranges::stable_sort(times, {}, &OperationTime::end_ns);
  return times;
}

}  // namespace strata::comm
