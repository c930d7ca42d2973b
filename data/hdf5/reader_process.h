// A second process of the running program that answers requests. If its input crashes or hangs it,
// the caller is not affected.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace strata::data {

class ReaderProcess {
 public:
  // Starts the running executable again with `name` as its only argument. A constructor in the
  // executable must call serve_if_named(). Throws ReadError if no process can be started.
  explicit ReaderProcess(const char* name);
  // Kills the process.
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  // Returns the answer, or nullopt if the process ended instead; death() then tells how.
  std::optional<std::string> answer(std::string_view request);

  // Returns the signal that ended the process, or 0 if it exited.
  int death();

  // True if this process started the reader. The child of a fork did not, and must not use it.
  bool is_ours() const;

 private:
  int socket_ = -1;
  pid_t parent_ = 0, child_ = 0;
};

// If a ReaderProcess of this name started this process, answers requests until there are no more,
// and exits. Otherwise returns at once.
void serve_if_named(const char* name, int argc, char** argv,
                    const std::function<std::string(std::string_view request)>& answer);

// Ends this process by SIGPROF after it has used this much more processor time; 0 removes the
// limit.
void limit_processor_time(int seconds);

}  // namespace strata::data
