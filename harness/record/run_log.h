// The MLPerf log of one run: strata::mllog's writer with this benchmark's options.
#pragma once

#include <cstdint>
#include <filesystem>

#include "mllog/log_clock.h"
#include "mllog/log_keys.h"
#include "mllog/log_writer.h"

namespace strata::harness {

namespace log_keys = mllog::keys;

// Like LogWriter's constructor and reopen(), but errors name run.output and the log names source
// files by their path in the source tree.
mllog::LogWriter make_log(std::filesystem::path path, mllog::LogClock clock = {});
mllog::LogWriter reopen_log(std::filesystem::path path, int64_t earliest_ms = 0);

}  // namespace strata::harness
