#include "report/connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace strata::report {

Connections::Connections(const ConnectionLimits& limits)
    : limits_(limits), watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

void Connections::end(Connection& connection) {
  ::shutdown(connection.socket, SHUT_RDWR);
  connection.ended = true;
}

// Ends connections until one more from `client` keeps to the limits.
void Connections::make_room_for(const std::string& client) {
  const auto end_one = [&](bool of_client, size_t most) {
    const auto counts = [&](const Connection& one) {
      return !one.ended && (!of_client || one.client == client);
    };
    while (static_cast<size_t>(std::ranges::count_if(open_, counts)) >= std::max<size_t>(most, 1)) {
      Connection* first = nullptr;
      for (Connection& one : open_) {
        if (!counts(one)) continue;
        const auto place = [](const Connection& c) { return std::pair(c.answering, c.since); };
        if (first == nullptr || place(one) < place(*first)) first = &one;
      }
      end(*first);
    }
  };
  end_one(true, limits_.of_a_client);
  end_one(false, limits_.connections);
}

Connections::Connection* Connections::add(int socket, std::string client) {
  const std::lock_guard lock(mutex_);
  std::list<Connection> added;
  added.push_back({.socket = socket, .client = std::move(client), .since = Clock::now()});
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
  connection->since = Clock::now();
}

void Connections::end_answer(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection->answering = false;
  connection->since = Clock::now();
}

Connections::Pause::Pause(Connections& connections)
    : connections_(connections), begin_(Clock::now()) {
  const std::lock_guard lock(connections_.mutex_);
  ++connections_.pauses_;
}

Connections::Pause::~Pause() {
  const std::lock_guard lock(connections_.mutex_);
  --connections_.pauses_;
  for (Connection& one : connections_.open_) {
    one.since += Clock::now() - std::max(begin_, one.since);
  }
}

void Connections::end_late_ones(Clock::time_point now) {
  for (Connection& one : open_) {
    if (one.ended || pauses_ > 0) continue;
    if (now - one.since > (one.answering ? limits_.answer : limits_.request)) end(one);
  }
}

void Connections::watch(const std::stop_token& stop) {
  const auto between = std::clamp(limits_.request / 10, std::chrono::milliseconds(1),
                                  std::chrono::milliseconds(500));
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, between, [] { return false; });
    end_late_ones(Clock::now());
  }
}

}  // namespace strata::report
