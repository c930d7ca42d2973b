// MLPerf logs as TensorBoard's event files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "compliance/log/event_log.h"
#include "compliance/package/submission_tree.h"

namespace strata::results {

// A point of a curve in TensorBoard.
struct Scalar {
  std::string tag;
  int64_t step = 0;
  double time_s = 0;  // since the epoch
  float value = 0;
};

// Every number that a log has between run_start and run_stop, in order: an event whose value is a
// number under its key, one whose value is an object under key/field. The step is what the metadata
// call samples_count, step_num or epoch_num, the first that is a whole number, else how many points
// the tag has.
std::vector<Scalar> scalars_of(const compliance::EventLog& log);

// An event file: TFRecords (tensorflow/core/lib/io/record_writer.cc) of Event messages
// (tensorflow/core/util/event.proto).
std::string event_file(const std::vector<Scalar>& scalars);

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
