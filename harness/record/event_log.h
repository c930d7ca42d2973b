// The MLPerf log of one run: strata::mllog's writer, with this benchmark's advice and source tree.
#pragma once

#include <filesystem>

#include "mllog/log_keys.h"
#include "mllog/log_writer.h"

namespace strata::harness {

using EventLog = mllog::LogWriter;
using mllog::EventField;
using mllog::EventMetadata;
using mllog::EventValue;
using mllog::LogClock;
namespace log_keys = mllog::keys;

// Like EventLog's constructor and reopen(), but errors name run.output and the log names source
// files by their path in the source tree.
EventLog make_log(std::filesystem::path path, LogClock clock = {});
EventLog reopen_log(std::filesystem::path path, int64_t earliest_ms = 0);
using mllog::latest_time_ms;

}  // namespace strata::harness
