// The checkpoint that an experiment goes on from.
#pragma once

#include <optional>

#include "harness/benchmark.h"
#include "harness/resume/resume_point.h"

namespace strata::harness {

// The point of the last checkpoint that is whole and belongs to the experiment's log; nullopt if
// there is none. All ranks call together and get the same.
std::optional<ResumePoint> last_whole_checkpoint(const Benchmark& b, int experiment);

// Returns the point at which an interrupted experiment continues, or nullopt for any other. If no
// checkpoint was ever finished, archives its files and returns nullopt: the experiment starts over.
// Throws Error if it would on other ranks or threads, or if a finished checkpoint is unusable: the
// user must decide whether to lose the trained steps. All ranks call together and get the same.
std::optional<ResumePoint> find_resume_point(const Benchmark& b, int experiment);

}  // namespace strata::harness
