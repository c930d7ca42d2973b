#include "comm/stall_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <thread>

#include "base/text/counts.h"
#include "comm/mpi/mpi_runtime.h"

namespace strata::comm {
namespace {

constexpr int kTag = 1;
constexpr size_t kLongestName = 64;

// Returns for example "rank 3" or "ranks 0, 2 and 5 to 7".
std::string names_of(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (end - begin > 2) {
      parts.push_back(fmt::format("{} to {}", ranks[begin], ranks[end - 1]));
    } else {
      for (size_t i = begin; i < end; ++i) parts.push_back(fmt::format("{}", ranks[i]));
    }
  }
  std::string text = parts.back();
  if (parts.size() > 1) {
    parts.pop_back();
    text = fmt::format("{} and {}", fmt::join(parts, ", "), text);
  }
  return noun_of(ranks.size(), "rank") + ' ' + text;
}

}  // namespace

std::string stall_message(int speaker, double seconds, const std::vector<std::string>& waits_in) {
  std::map<std::string, std::vector<int>> elsewhere;
  std::vector<int> together, silent;
  const std::string& operation = waits_in[static_cast<size_t>(speaker)];
  for (int rank = 0; rank < std::ssize(waits_in); ++rank) {
    const std::string& theirs = waits_in[static_cast<size_t>(rank)];
    (theirs.empty() ? silent : theirs == operation ? together : elsewhere[theirs]).push_back(rank);
  }
  std::string message =
      fmt::format("no progress for {} s in a collective: {} wait{} in {}", count_text(seconds),
                  names_of(together), together.size() == 1 ? "s" : "", operation);
  for (const auto& [other, ranks] : elsewhere) {
    message += fmt::format(", {} in {}", names_of(ranks), other);
  }
  if (!silent.empty()) message += fmt::format(", {} in none", names_of(silent));
  return message +
         "; check the ranks that wait in another operation or in none, or raise "
         "run.stall_seconds if they are only slow";
}

// Tests a few times, which suffices if the other ranks are already there, then sleeps longer and
// longer between tests.
void wait_for(MPI_Request request, const char* operation, StallWatch& stall) {
  constexpr int kTestsBeforeSleep = 20;
  constexpr std::chrono::microseconds kFirstSleep(15), kLongestSleep(200);
  std::chrono::microseconds sleep = kFirstSleep;
  std::optional<StallWatch::Wait> wait;
  for (int tests = 1;; ++tests) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (tests < kTestsBeforeSleep) continue;
    if (!wait) wait.emplace(StallWatch::Wait{operation});
    stall.check(*wait);
    std::this_thread::sleep_for(sleep);
    sleep = std::min(sleep * 3 / 2, kLongestSleep);
  }
}

StallWatch::StallWatch() {
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  waits_in_.resize(static_cast<size_t>(size_));
}

StallWatch::~StallWatch() {
  device_waits_.reset();
  // MPI_Comm_free is collective, and after an error the other ranks may not take part.
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&communicator_);
}

device::HostWaits& StallWatch::device_waits() {
  std::call_once(device_waited_, [&] { device_waits_ = std::make_unique<DeviceWaits>(*this); });
  return *device_waits_;
}

DeviceWaits::DeviceWaits(StallWatch& stall)
    : stall_(stall), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

int DeviceWaits::begin(const char* operation) {
  for (size_t i = 0; i < kSlots; ++i) {
    const char* none = nullptr;
    if (slots_[i].operation.compare_exchange_strong(none, operation)) return static_cast<int>(i);
  }
  return -1;
}

void DeviceWaits::end(int wait) {
  if (wait < 0) return;
  Slot& slot = slots_[static_cast<size_t>(wait)];
  ++slot.ended;  // before the slot is free, so that the next wait in it has another number
  slot.operation = nullptr;
}

int DeviceWaits::add_check(std::function<std::string()> error) {
  const std::lock_guard lock(mutex_);
  checks_.emplace(++next_check_, std::move(error));
  return next_check_;
}

void DeviceWaits::remove_check(int check) {
  const std::lock_guard lock(mutex_);
  checks_.erase(check);
}

void DeviceWaits::watch(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kBetweenChecks(50);
  struct Watched {
    uint64_t number = 0;  // number of waits that ended in the slot before this one
    StallWatch::Wait wait = {};
  };
  std::array<Watched, kSlots> watched;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, kBetweenChecks, [] { return false; });
    for (const auto& [number, error] : checks_) {
      const std::string text = error();
      if (!text.empty()) stall_.end_job_with(text);
    }
    for (size_t i = 0; i < kSlots; ++i) {
      const char* const operation = slots_[i].operation;
      if (!operation) continue;
      const uint64_t number = slots_[i].ended;
      if (watched[i].number != number) watched[i] = {.number = number};
      watched[i].wait.operation = operation;
      stall_.check(watched[i].wait);
    }
  }
}

void StallWatch::end_job_with(const std::string& error) {
  // Never released: another thread of this rank has nothing to add.
  const std::lock_guard lock(mutex_);
  abort_mpi_job(rank_, error);
}

void StallWatch::end_job(const char* operation, double limit) {
  // Never released: another thread of this rank has nothing to add.
  const std::lock_guard lock(mutex_);
  waits_in_[static_cast<size_t>(rank_)] = operation;
  tell(operation);
  // Ranks reach a collective, and so its limit, at different times.
  listen(std::chrono::milliseconds(static_cast<int64_t>(std::clamp(100 * limit, 1e3, 1e4))));
  const auto first = std::find_if(waits_in_.begin(), waits_in_.end(),
                                  [](const std::string& name) { return !name.empty(); });
  // The first waiting rank prints the message. The others give it three seconds to do so.
  if (first - waits_in_.begin() != rank_) listen(std::chrono::seconds(3));
  abort_mpi_job(rank_, stall_message(rank_, limit, waits_in_));
}

// The sent name stays in memory until the process ends.
void StallWatch::tell(const std::string& operation) {
  static char name[kLongestName];
  operation.copy(name, kLongestName - 1);
  for (int rank = 0; rank < size_; ++rank) {
    MPI_Request request;
    if (rank != rank_) MPI_Isend(name, kLongestName, MPI_CHAR, rank, kTag, communicator_, &request);
  }
}

void StallWatch::listen(Clock::duration time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
    int arrived = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, communicator_, &arrived, &status);
    if (!arrived) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    char name[kLongestName];
    MPI_Recv(name, kLongestName, MPI_CHAR, status.MPI_SOURCE, kTag, communicator_,
             MPI_STATUS_IGNORE);
    waits_in_[static_cast<size_t>(status.MPI_SOURCE)] = name;
  }
}

}  // namespace strata::comm
