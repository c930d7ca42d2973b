// MLPerf logs as TensorBoard's event files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/tensorboard/event_file.h"
#include "compliance/log/event_log.h"
#include "compliance/package/submission_tree.h"

namespace strata::results {

// Every number that a log has between run_start and run_stop, in order: an event whose value is a
// number under its key, one whose value is an object under key/field. The step is what the metadata
// call samples_count, step_num or epoch_num, the first that is a whole number, else how many points
// the tag has.
std::vector<TensorBoardScalar> scalars_of(const compliance::EventLog& log);

std::string event_file(const std::vector<TensorBoardScalar>& scalars);

struct ExportedRun {
  std::filesystem::path log, file;
  size_t scalars = 0;
};

// Writes a folder for each log, of which TensorBoard makes a run: of a log in a directory that is
// named the directory's name and the path from there on, of a log that is named its own name. What
// cannot be read is added to `problems`. Throws Error where two logs would have one folder.
std::vector<ExportedRun> export_tensorboard(std::span<const std::filesystem::path> paths,
                                            const std::filesystem::path& output,
                                            compliance::ListingProblems& problems);

}  // namespace strata::results
