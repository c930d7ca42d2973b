// Starts, watches, signals and awaits a child process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace strata::cli {

struct ProcessOptions {
  std::map<std::string, std::string> environment;  // added to this process's
  std::optional<uint64_t> largest_file;            // most bytes of a file (RLIMIT_FSIZE)
};

struct ProcessResult {
  int exit_code = -1;  // 128 + the signal that ended it
  bool timed_out = false;
  std::string out, err;
};

class Process {
 public:
  explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
  ~Process();  // kills it if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void signal(int number) const;
  // Waits until it ends, and kills it after `limit`.
  ProcessResult wait(std::chrono::seconds limit);

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::filesystem::path out_, err_;
};

ProcessResult run(const std::vector<std::string>& command, const ProcessOptions& options = {},
                  std::chrono::seconds limit = std::chrono::seconds(280));

// Returns the process of `rank` that the launcher `mpirun` has started on this machine.
std::optional<pid_t> find_rank(pid_t mpirun, int rank);
bool exists(pid_t process);

// Returns whether `condition` becomes true within `limit`.
bool wait_until(const std::function<bool()>& condition, std::chrono::seconds limit);

}  // namespace strata::cli
