// A device's speeds from measured steps.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "bench/simulation/operation_costs.h"

namespace strata::bench {

// Reads a step that `strata bench step --json` measured on one rank: FLOP/s of forward and
// backward, the bandwidth of the update (0 if it took no time), and the rest of the step as its
// constant. `bytes` are those of the measured optimizer. Activations must have been kept. Throws
// Error with file and key for another file, another model's, several ranks, a step without phases,
// or speeds that no device has.
DeviceSpeed read_measured_speed(const std::filesystem::path& path, const bert::BertConfig& model,
                                const UpdateBytes& bytes);

// Reads what `strata plan --json` fitted to steps of `model` on MLPerf's data: the device's FLOP/s
// and the constant of a step, which includes the update. Throws Error with file and key for another
// file, or one with several plans.
DeviceSpeed read_fitted_speed(const std::filesystem::path& path, const bert::BertConfig& model);

// Returns the median seconds of each operation in a timeline (--timeline, log.timeline_steps), by
// its name there. Throws Error with the file if it is not a timeline.
std::map<std::string, double> read_durations(const std::filesystem::path& path);

}  // namespace strata::bench
