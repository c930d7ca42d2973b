// Exports MLPerf logs as TensorBoard's event files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/tensorboard/event_file.h"
#include "compliance/package/submission_tree.h"
#include "mllog/log_reader.h"

namespace strata::scoring {

// Returns every number between run_start and run_stop, in order. An event whose value is a number
// has its key as the tag; an object's fields have key/field. The step is the metadata's
// samples_count, step_num or epoch_num, the first that is a whole number, else the tag's number of
// points.
std::vector<TensorBoardScalar> scalars_of(const mllog::LogReader& log);

std::string event_file(const std::vector<TensorBoardScalar>& scalars);

struct ExportedRun {
  std::filesystem::path log, file;
  size_t scalars = 0;
};

// Writes a folder for each log, which TensorBoard shows as a run. Names are as in named_logs().
// Adds what cannot be read to `problems`. Throws Error if two logs would have one folder.
std::vector<ExportedRun> export_tensorboard(std::span<const std::filesystem::path> paths,
                                            const std::filesystem::path& output,
                                            compliance::ListingProblems& problems);

}  // namespace strata::scoring
