// The output of `strata bench schedule`.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/schedules/schedule_benchmark.h"

namespace strata::cli {

nlohmann::ordered_json to_json(const bench::ScheduleBenchmark& benchmark);
// Prints tables for people on standard output.
void print_tables(const bench::ScheduleBenchmark& benchmark);
// Explains every column, for --help.
extern const char* const kScheduleColumns;

}  // namespace strata::cli
