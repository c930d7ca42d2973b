#include "search/jobs/job.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/files/files.h"
#include "base/threads/first_error.h"
#include "base/threads/processors.h"

namespace strata::search {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
constexpr int kNotFound = 127;

int opened(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
  return file;
}

// Runs in the child, so it calls only what is allowed between fork and exec.
[[noreturn]] void become(const char* program, char* const* arguments, pid_t parent, int out,
                         int err, int inherited) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNotFound);  // the parent died earlier
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) {
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(signal, &standard, nullptr);
  }
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (inherited >= 0) ::fcntl(inherited, F_SETFD, 0);
  ::execv(program, arguments);
  const char* reason = ::strerrordesc_np(errno);
  for (const char* part :
       {"strata: cannot start ", static_cast<const char*>(arguments[0]), ": ", reason, "\n"}) {
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  ::_exit(kNotFound);
}

}  // namespace

Job::Job(const std::vector<std::string>& command, const Options& options) : grace_(options.grace) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const int out = opened(options.out), err = opened(options.err);
  const std::vector<int> own = options.processors.empty() ? std::vector<int>() : affinity();
  if (!own.empty()) set_affinity(options.processors);  // the child inherits it
  const std::string program = find_program(command.at(0));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(program.c_str(), arguments.data(), parent, out, err, options.inherited);
  const int error = errno;
  if (!own.empty()) set_affinity(own);
  ::close(out);
  ::close(err);
  if (pid_ < 0) fail("cannot start a process: {}", std::strerror(error));
  ::setpgid(pid_, pid_);  // both processes call it; either may be first
}

std::optional<int> Job::exit_code() {
  if (exit_code_) return exit_code_;
  siginfo_t info = {};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    fail("the exit code of process {} is lost: {}", pid_, std::strerror(errno));
  }
  if (info.si_pid != pid_) return std::nullopt;
  ::kill(-pid_, SIGKILL);  // the group number is still its own
  int status = 0;
  ::waitpid(pid_, &status, 0);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

void Job::tell_to_end() {
  if (exit_code_) return;
  ::kill(pid_, SIGTERM);
  if (!told_) told_ = std::chrono::steady_clock::now();
}

Job::~Job() {
  FirstError ignored;
  ignored.guard([&] {
    if (exit_code()) return;
    tell_to_end();
    const auto deadline = *told_ + grace_;
    while (!exit_code() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kBetweenLooks);
    }
  });
  if (exit_code_) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace strata::search
