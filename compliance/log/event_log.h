// The reader of strata::mllog under the checks' names.
#pragma once

#include "mllog/event_log.h"

namespace strata::compliance {

using mllog::BadLine;
using mllog::Event;
using mllog::EventLog;
using mllog::LogFormat;

}  // namespace strata::compliance
