// Energy of a run from the power logs beside it: power/<run>/node_N.txt and sw_N.txt.
#pragma once

#include <filesystem>
#include <optional>

#include "mllog/log_reader.h"

namespace strata::scoring {

// Returns the joules of a run of `time_to_train_ms`. Node logs hold readings in watts, which are
// integrated between power_measurement_start and _stop and scaled to the run's time. Switch logs
// hold an estimate in watts. Empty if there are no node logs. Throws Error if a node log holds no
// measurement, or a log cannot be read.
std::optional<double> run_energy(const std::filesystem::path& power_folder,
                                 double time_to_train_ms);

// Return the joules of one node, and of one switch, over a run of `time_to_train_ms`.
double node_energy(const mllog::LogReader& log, double time_to_train_ms);
double switch_energy(const mllog::LogReader& log, double time_to_train_ms);

}  // namespace strata::scoring
