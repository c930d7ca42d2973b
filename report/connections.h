// Enforces the limits of a server's connections.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "report/connection_limits.h"

namespace strata::report {

// Enforces the limits by shutting sockets down; the server then sees their ends and closes them.
// Always admits a new connection: it replaces the connection whose request has been incomplete for
// longest, or the oldest if all requests are complete. Thread-safe.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int socket = -1;
    std::string client;
    Clock::time_point phase_begin;  // begin of the request or the answer
    bool answering = false;
    bool is_shut_down = false;
  };

  explicit Connections(const ConnectionLimits& limits);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Enters an open socket. The result is valid until remove(), which must precede closing the
  // socket. Throws std::bad_alloc.
  Connection* add(int socket, std::string client);
  void remove(Connection* connection);
  // Call when a request is complete and its answer begins.
  void begin_answer(Connection* connection);
  // Call when the answer has been read and another request may come.
  void end_answer(Connection* connection);

  // Pauses timeouts while it exists, because the server itself keeps its clients waiting.
  class PausedTimeouts {
   public:
    explicit PausedTimeouts(Connections& connections);
    ~PausedTimeouts();
    PausedTimeouts(const PausedTimeouts&) = delete;
    PausedTimeouts& operator=(const PausedTimeouts&) = delete;

   private:
    Connections& connections_;
    Clock::time_point begin_;
  };

 private:
  static void shut_down(Connection& connection);
  void make_room_for(const std::string& client);
  void shut_down_overdue(Clock::time_point now);
  void watch(const std::stop_token& stop);

  const ConnectionLimits limits_;
  std::mutex mutex_;
  std::list<Connection> open_;  // in order of their creation
  int pauses_ = 0;
  std::condition_variable_any wake_;
  std::jthread watcher_;  // last: it uses the members above
};

}  // namespace strata::report
