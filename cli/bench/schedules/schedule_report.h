// What `strata bench schedule` prints.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/schedules/schedule_benchmark.h"

namespace strata::cli {

nlohmann::ordered_json to_json(const bench::ScheduleBenchmark& benchmark);
// Tables for people, on standard output.
void print_tables(const bench::ScheduleBenchmark& benchmark);
// What every column is, for --help.
extern const char* const kScheduleColumns;

}  // namespace strata::cli
