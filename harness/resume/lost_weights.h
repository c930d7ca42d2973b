// The weights of a run that ended and could not write them: a full disk, or a kill before the file.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/resume/resume_point.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// Goes on from the checkpoint in `folder`, which was taken at `point`, until the run's `samples`
// are trained on, and writes the weights to `file`. Log and trace stay as they are. All ranks call
// together. Throws Error if the data have changed or the file cannot be written.
void write_lost_weights(SystemUnderTest& system, const std::filesystem::path& folder,
                        const ResumePoint& point, int64_t samples,
                        const std::filesystem::path& file, const Say& say);

}  // namespace strata::harness
