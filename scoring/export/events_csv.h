// Exports MLPerf logs as one table of events.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "compliance/package/submission_tree.h"

namespace strata::scoring {

struct EventsTable {
  std::string csv;  // RFC 4180: a header, then one line per event
  size_t logs = 0, events = 0;
};

// Columns: log (its name by named_logs()), offset (of the line, in bytes from the start of the
// log), time_ms (since the epoch), event_type, key, value and metadata (JSON). Adds what cannot be
// read to `problems`. Throws Error if two logs would have one name.
EventsTable events_table(std::span<const std::filesystem::path> paths,
                         compliance::ListingProblems& problems);

}  // namespace strata::scoring
