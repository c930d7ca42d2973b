#include "data/hdf5/reader_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/child_process.h"
#include "base/error.h"

namespace strata::data {
namespace {

constexpr int kSocket = 3;  // the serving process's descriptor

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool receive_all(int socket, char* out, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, out, bytes, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

// A message consists of its size and its bytes.
bool send_message(int socket, std::string_view message) {
  const uint64_t size = message.size();
  std::string framed(reinterpret_cast<const char*>(&size), sizeof size);
  framed.append(message);
  return send_all(socket, framed);
}

bool receive_message(int socket, std::string& message) {
  uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size)) return false;
  message.resize(size);
  return receive_all(socket, message.data(), size);
}

}  // namespace

ReaderProcess::ReaderProcess(const char* name) : parent_(::getpid()) {
  const auto give_up = [](int error) {
    throw ReadError(
        fmt::format("cannot start the process that reads HDF5 files: {}; allow more processes and "
                    "open files (ulimit -u, ulimit -n)",
                    std::strerror(error)));
  };
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) give_up(errno);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], kSocket);
  posix_spawn_file_actions_addclosefrom_np(&files, kSocket + 1);
  // Libraries write to these streams before they abort.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Ctrl-C and a batch system's signals reach the whole job; only the parent reacts to them.
  sigset_t blocked, usual;
  sigfillset(&blocked);
  sigdelset(&blocked, SIGPROF);
  sigfillset(&usual);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // Twice, because qemu-user puts the program's path in place of the first.
  char* const arguments[] = {const_cast<char*>(name), const_cast<char*>(name), nullptr};
  const int error =
      ::posix_spawn(&child_, "/proc/self/exe", &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  socket_ = ends[0];
  if (error == 0) return;
  ::close(socket_);
  give_up(error);
}

ReaderProcess::~ReaderProcess() {
  ::close(socket_);
  if (!is_ours() || child_ == 0) return;
  ::kill(child_, SIGKILL);
  death();
}

std::optional<std::string> ReaderProcess::answer(std::string_view request) {
  std::string answer;
  if (!send_message(socket_, request) || !receive_message(socket_, answer)) return std::nullopt;
  return answer;
}

int ReaderProcess::death() {
  const std::optional<int> status = wait_for(child_);
  child_ = 0;
  return status && WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
}

bool ReaderProcess::is_ours() const { return ::getpid() == parent_; }

void serve_if_named(const char* name, int argc, char** argv,
                    const std::function<std::string(std::string_view request)>& answer) {
  struct stat socket;
  if (argc != 2 || std::strcmp(argv[1], name) != 0) return;
  if (::fstat(kSocket, &socket) != 0 || !S_ISSOCK(socket.st_mode)) return;  // a user's argument
  ::prctl(PR_SET_NAME, name);
  // Disables core dumps, which would tell no more than the parent does. A limit of 1 also disables
  // programs that collect cores (core(5)).
  rlimit core;
  if (::getrlimit(RLIMIT_CORE, &core) == 0) {
    core.rlim_cur = std::min<rlim_t>(core.rlim_max, 1);
    ::setrlimit(RLIMIT_CORE, &core);
  }
  std::string request;
  while (receive_message(kSocket, request)) {
    const std::string answered = answer(request);
    limit_processor_time(0);
    if (!send_message(kSocket, answered)) break;
  }
  ::_exit(0);
}

void limit_processor_time(int seconds) {
  const itimerval limit = {{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace strata::data
