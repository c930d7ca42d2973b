#include "tests/cli/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
constexpr auto kPoll = std::chrono::milliseconds(10);

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

fs::path temporary_file() {
  std::string name = (fs::temp_directory_path() / "strata-process.XXXXXX").string();
  ::close(::mkstemp(name.data()));
  return name;
}

[[noreturn]] void become(const std::vector<std::string>& command, const ProcessOptions& options,
                         const fs::path& out, const fs::path& err) {
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(::open(out.c_str(), O_WRONLY), 1);
  ::dup2(::open(err.c_str(), O_WRONLY), 2);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (options.largest_file) {
    const rlimit limit{*options.largest_file, *options.largest_file};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options)
    : out_(temporary_file()), err_(temporary_file()) {
  pid_ = ::fork();
  if (pid_ == 0) become(command, options, out_, err_);
}

Process::~Process() {
  if (running()) wait(std::chrono::seconds(0));
  fs::remove(out_);
  fs::remove(err_);
}

bool Process::running() {
  if (status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return !status_;
}

void Process::signal(int number) const { ::kill(pid_, number); }

ProcessResult Process::wait(std::chrono::seconds limit) {
  ProcessResult result;
  if (!wait_until([&] { return !running(); }, limit)) {
    result.timed_out = true;
    // On SIGTERM a launcher ends its ranks. If it is killed, it does not.
    signal(SIGTERM);
    if (!wait_until([&] { return !running(); }, std::chrono::seconds(15))) {
      signal(SIGKILL);
      wait_until([&] { return !running(); }, std::chrono::seconds(15));
    }
  }
  const int status = status_.value_or(0);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = contents(out_);
  result.err = contents(err_);
  return result;
}

ProcessResult run(const std::vector<std::string>& command, const ProcessOptions& options,
                  std::chrono::seconds limit) {
  return Process(command, options).wait(limit);
}

std::optional<pid_t> find_rank(pid_t mpirun, int rank) {
  const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // The line is "pid (name) state parent ...", where the name may contain anything.
    const std::string stat = contents(entry.path() / "stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    std::istringstream(stat.substr(name_end + 1)) >> state >> parent;
    if (parent != mpirun) continue;
    const std::string environment = '\0' + contents(entry.path() / "environ");
    if (environment.find('\0' + wanted + '\0') != std::string::npos) {
      return static_cast<pid_t>(std::stol(name));
    }
  }
  return {};
}

bool exists(pid_t process) { return ::kill(process, 0) == 0; }

bool wait_until(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace strata::cli
