// Another process of the program that runs, which answers requests: whatever it reads may crash or
// hang it and leaves the caller alone.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace strata::data {

class ReaderProcess {
 public:
  // Starts the executable that runs, with `name` as its argv[0]: a constructor of it calls
  // serve_if_named(). Throws ReadError if no process can be started.
  explicit ReaderProcess(const char* name);
  // Kills the process.
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  // The answer, or nullopt if the process ended instead; death() then says how.
  std::optional<std::string> answer(std::string_view request);

  // The signal that ended the process, or 0 if it exited.
  int death();

  // Whether this process started it; the child of a fork did not, and must not use it.
  bool is_ours() const;

 private:
  int socket_ = -1;
  pid_t parent_ = 0, child_ = 0;
};

// Answers requests until there are no more and exits, if this process was started as `name`.
// Returns at once otherwise.
void serve_if_named(const char* name, int argc, char** argv,
                    const std::function<std::string(std::string_view request)>& answer);

// Ends this process by SIGPROF when it has used so much more processor time; 0 lifts the limit.
void limit_processor_time(int seconds);

}  // namespace strata::data
