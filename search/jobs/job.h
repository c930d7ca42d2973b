// A program run as a child process, with all that it starts.
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
    std::filesystem::path out, err;  // files for its output
    std::vector<int> processors;     // processors that it may run on; empty: all of this process
    int inherited = -1;              // a descriptor that it keeps open; -1: none
    std::chrono::milliseconds grace = std::chrono::seconds(10);  // see ~Job
  };

  // Looks for the program on the path. The program gets SIGTERM when this process dies. Throws
  // Error if no process can be started or the files cannot be written.
  Job(const std::vector<std::string>& command, const Options& options);
  // Sends SIGTERM, and kills the whole process group `grace` after the first SIGTERM.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Sends SIGTERM without waiting for the end.
  void tell_to_end();
  // Returns nullopt while it runs. At its end kills the processes that it left behind, and returns
  // its exit code: 128 + the signal that ended it, or 127 if there is no such program.
  std::optional<int> exit_code();

 private:
  pid_t pid_ = -1;
  std::chrono::milliseconds grace_;
  std::optional<int> exit_code_;
  std::optional<std::chrono::steady_clock::time_point> told_;  // time of the first SIGTERM
};

}  // namespace strata::search
