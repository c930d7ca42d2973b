#include "harness/host/interruption.h"

#include <time.h>

#include <atomic>
#include <cstdint>

namespace strata::harness {
namespace {

constexpr int64_t kSameEventMs = 500;

std::atomic<int> received_signal = 0;
std::atomic<int64_t> received_at_ms = 0;
static_assert(std::atomic<int64_t>::is_always_lock_free, "used in a signal handler");

int64_t monotonic_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_signal(int number) {
  const int64_t now = monotonic_ms();
  int64_t first = 0;
  if (received_at_ms.compare_exchange_strong(first, now)) {
    received_signal = number;
  } else if (now - first > kSameEventMs) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

struct sigaction install(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  struct sigaction previous;
  sigaction(number, &action, &previous);
  return previous;
}

}  // namespace

Interruption::Interruption() {
  received_signal = 0;
  received_at_ms = 0;
  previous_int_ = install(SIGINT, on_signal);
  previous_term_ = install(SIGTERM, on_signal);
  previous_hangup_ = install(SIGHUP, on_signal);
  if (previous_hangup_.sa_handler == SIG_IGN) sigaction(SIGHUP, &previous_hangup_, nullptr);
  previous_size_ = install(SIGXFSZ, SIG_IGN);
  previous_pipe_ = install(SIGPIPE, SIG_IGN);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
  sigaction(SIGHUP, &previous_hangup_, nullptr);
  sigaction(SIGXFSZ, &previous_size_, nullptr);
  sigaction(SIGPIPE, &previous_pipe_, nullptr);
}

int Interruption::signal() const noexcept { return received_signal; }

}  // namespace strata::harness
