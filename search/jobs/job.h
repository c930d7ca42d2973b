// A program run as a child, with all that it starts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace strata::search {

class Job {
 public:
  struct Options {
    std::filesystem::path out, err;  // files for what it prints
    std::vector<int> processors;     // that it may run on; empty: all that this process may
    int inherited = -1;              // a descriptor that it keeps open; -1: none
    std::chrono::milliseconds grace = std::chrono::seconds(10);  // see ~Job
  };

  // The program is looked for on the path. It is told to end (SIGTERM) when this process dies.
  // Throws Error where no process can be started or the files cannot be written.
  Job(const std::vector<std::string>& command, const Options& options);
  // Tells it to end, and `grace` after it was told first ends all of its process group.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Tells it to end, and does not wait for that.
  void tell_to_end();
  // Nothing while it runs; what it started and left behind is then ended, too. 128 + the signal
  // that ended it; 127 where there is no such program.
  std::optional<int> exit_code();

 private:
  pid_t pid_ = -1;
  std::chrono::milliseconds grace_;
  std::optional<int> exit_code_;
  std::optional<std::chrono::steady_clock::time_point> told_;  // to end, first
};

}  // namespace strata::search
