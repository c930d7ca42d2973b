#include "bench/machine/process_time.h"

#include <time.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::bench {

double seconds_since_process_start() {
  // The 22nd field is the start in clock ticks after boot (proc(5)). The 2nd, the program's name in
  // parentheses, may contain spaces.
  const std::string stat = read_file("/proc/self/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  timespec now{};
  if (!fields || clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    fail("/proc/self/stat: the start time of this process is missing");
  }
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
         std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace strata::bench
