// The limits of a server's connections: how many there are, and how long a request may take.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace strata::report {

struct ConnectionLimits {
  size_t connections = 128;
  size_t of_a_client = 64;  // connections from one address
  // From when a connection is made, or has had its answer, until all of a request's header is
  // there.
  std::chrono::milliseconds request{10'000};
  std::chrono::milliseconds answer{120'000};  // until the client has read the answer
};

// Keeps to the limits by shutting sockets down; whoever serves them then sees their ends and closes
// them. A new connection is always let in: it takes the place of the connection whose request has
// been incomplete for longest, or, if all requests are complete, of the oldest. All members may be
// called from any thread.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int socket = -1;
    std::string client;
    Clock::time_point since;  // beginning of the request, or of the answer
    bool answering = false;
    bool ended = false;  // has been shut down
  };

  explicit Connections(const ConnectionLimits& limits);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Enters an open socket. The result is valid until remove(), which must be called before the
  // socket is closed. Throws std::bad_alloc.
  Connection* add(int socket, std::string client);
  void remove(Connection* connection);
  // A request is complete and its answer begins.
  void begin_answer(Connection* connection);
  // The answer has been read, and another request may come.
  void end_answer(Connection* connection);

  // While one of these lives, the server itself keeps its clients waiting, and no time passes.
  class Pause {
   public:
    explicit Pause(Connections& connections);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Connections& connections_;
    Clock::time_point begin_;
  };

 private:
  static void end(Connection& connection);
  void make_room_for(const std::string& client);
  void end_late_ones(Clock::time_point now);
  void watch(const std::stop_token& stop);

  const ConnectionLimits limits_;
  std::mutex mutex_;
  std::list<Connection> open_;  // in the order in which they were made
  int pauses_ = 0;
  std::condition_variable_any wake_;
  std::jthread watcher_;  // last: it uses the others
};

}  // namespace strata::report
