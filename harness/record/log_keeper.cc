#include "harness/record/log_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "base/child_process.h"
#include "base/error.h"
#include "harness/record/output_lock.h"
#include "harness/record/result_tree.h"
#include "harness/record/run_log.h"
#include "mllog/log_reader.h"

namespace strata::harness {
namespace {

// The kernel releases the writer's lock a moment before or after it closes the writer's socket.
OutputLock lock_of_the_dead(const std::filesystem::path& directory) {
  for (int tries_left = 100;; --tries_left) {
    try {
      return OutputLock(directory);
    } catch (const Error&) {
      if (tries_left == 0) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void end_log_of_the_dead(const std::filesystem::path& log) {
  std::error_code ignored;
  if (!std::filesystem::exists(log, ignored)) return;
  const OutputLock lock = lock_of_the_dead(log.parent_path());
  if (end_abandoned_log(log)) {
    print_to_stderr(
        "strata: the process that wrote {} is gone, so this log ends with run_stop aborted. "
        "--resume continues from its last checkpoint, if there is one; --continue archives it and "
        "runs it again.\n",
        log.string());
  }
}

// Leaves the writer's session, which receives the signals of terminals and launchers.
void leave_the_writer(int socket) {
  ::setsid();
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) std::signal(number, SIG_IGN);
  ::prctl(PR_SET_NAME, "strata-keeper");
  constexpr int kSocket = 3;
  if (socket != kSocket) ::dup2(socket, kSocket);
  ::close_range(kSocket + 1, UINT_MAX, 0);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

[[noreturn]] void be_the_keeper(int socket) {
  leave_the_writer(socket);
  std::string log;
  char message[PATH_MAX];
  for (;;) {
    const ssize_t size = ::recv(3, message, sizeof message, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    log.assign(message, static_cast<size_t>(size) - 1);
  }
  try {
    if (!log.empty()) end_log_of_the_dead(log);
  } catch (const std::exception& error) {
    print_to_stderr("strata: {}\n", error.what());
  }
  ::_exit(0);
}

}  // namespace

bool end_abandoned_log(const std::filesystem::path& log) {
  bool started = false, ended = false;  // whether the last event is run_stop
  mllog::LogReader(log, mllog::LogFormat::kMllog).visit([&](const auto& event) {
    started |= event.key == log_keys::kRunStart;
    ended = event.key == log_keys::kRunStop;
    return true;
  });
  if (!started) remove_not_begun(log);
  if (!started || ended) return false;
  reopen_log(log).end(log_keys::kRunStop, {}, {{log_keys::kStatus, log_keys::kAborted}});
  return true;
}

LogKeeper::LogKeeper() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail("cannot make the socket of the process that keeps the log: {}", std::strerror(errno));
  }
  std::fflush(nullptr);
  keeper_ = ::fork();
  if (keeper_ == 0) be_the_keeper(ends[1]);
  const int reason = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (keeper_ < 0) {
    ::close(socket_);
    fail("cannot start the process that keeps the log: {}", std::strerror(reason));
  }
}

LogKeeper::~LogKeeper() {
  keep({});
  ::close(socket_);
  wait_for(keeper_);
}

void LogKeeper::keep(const std::filesystem::path& log) noexcept {
  // The terminating zero keeps the message from being empty, which would mean the end.
  ::send(socket_, log.c_str(), log.native().size() + 1, MSG_NOSIGNAL);
}

}  // namespace strata::harness
