#include "report/connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace strata::report {

Connections::Connections(const ConnectionLimits& limits)
    : limits_(limits), watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

void Connections::shut_down(Connection& connection) {
  ::shutdown(connection.socket, SHUT_RDWR);
  connection.is_shut_down = true;
}

// Shuts connections down until one more from `client` is within the limits.
void Connections::make_room_for(const std::string& client) {
  const auto shut_down_one = [&](bool of_client, size_t most) {
    const auto counts = [&](const Connection& one) {
      return !one.is_shut_down && (!of_client || one.client == client);
    };
    while (static_cast<size_t>(std::ranges::count_if(open_, counts)) >= std::max<size_t>(most, 1)) {
      Connection* first = nullptr;
      for (Connection& one : open_) {
        if (!counts(one)) continue;
        const auto place = [](const Connection& c) {
          return std::pair(c.answering, c.phase_begin);
        };
        if (first == nullptr || place(one) < place(*first)) first = &one;
      }
      shut_down(*first);
    }
  };
  shut_down_one(true, limits_.most_per_client);
  shut_down_one(false, limits_.most_connections);
}

Connections::Connection* Connections::add(int socket, std::string client) {
  const std::lock_guard lock(mutex_);
  std::list<Connection> added;
  added.push_back({.socket = socket, .client = std::move(client), .phase_begin = Clock::now()});
  make_room_for(added.back().client);
  open_.splice(open_.end(), added);
  return &open_.back();
}

void Connections::remove(Connection* connection) {
  const std::lock_guard lock(mutex_);
  open_.remove_if([&](const Connection& one) { return &one == connection; });
}

void Connections::begin_answer(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection->answering = true;
  connection->phase_begin = Clock::now();
}

void Connections::end_answer(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection->answering = false;
  connection->phase_begin = Clock::now();
}

Connections::PausedTimeouts::PausedTimeouts(Connections& connections)
    : connections_(connections), begin_(Clock::now()) {
  const std::lock_guard lock(connections_.mutex_);
  ++connections_.pauses_;
}

Connections::PausedTimeouts::~PausedTimeouts() {
  const std::lock_guard lock(connections_.mutex_);
  --connections_.pauses_;
  for (Connection& one : connections_.open_) {
    one.phase_begin += Clock::now() - std::max(begin_, one.phase_begin);
  }
}

void Connections::shut_down_overdue(Clock::time_point now) {
  for (Connection& one : open_) {
    if (one.is_shut_down || pauses_ > 0) continue;
    if (now - one.phase_begin > (one.answering ? limits_.answer_timeout : limits_.request_timeout))
      shut_down(one);
  }
}

void Connections::watch(const std::stop_token& stop) {
  const auto between = std::clamp(limits_.request_timeout / 10, std::chrono::milliseconds(1),
                                  std::chrono::milliseconds(500));
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, between, [] { return false; });
    shut_down_overdue(Clock::now());
  }
}

}  // namespace strata::report
