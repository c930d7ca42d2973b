// Recovers the final weights of a run that could not write them, because the disk was full or the
// process was killed.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/resume/resume_point.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// Resumes from the checkpoint in `folder`, which was taken at `point`, trains up to the run's
// `samples`, and writes the weights to `file`. Leaves log and trace unchanged. All ranks call
// together. Throws Error if the data have changed or the file cannot be written.
void write_lost_weights(SystemUnderTest& system, const std::filesystem::path& folder,
                        const ResumePoint& point, int64_t samples,
                        const std::filesystem::path& file, const Say& say);

}  // namespace strata::harness
