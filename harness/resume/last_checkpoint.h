// The checkpoint that an experiment goes on from.
#pragma once

#include <optional>

#include "harness/benchmark.h"
#include "harness/resume/resume_point.h"

namespace strata::harness {

// The point of the last checkpoint that is whole and belongs to the experiment's log; nullopt if
// there is none. All ranks call together and get the same.
std::optional<ResumePoint> last_whole_checkpoint(const Benchmark& b, int experiment);

// Returns where an interrupted experiment continues; nullopt for any other. If no checkpoint was
// finished, archives the experiment's files and returns nullopt (it starts over), but throws Error
// if it began on another number of ranks or threads. If checkpoints were finished, but none is
// usable, throws Error: the user decides whether to lose steps. All ranks call and get the same.
std::optional<ResumePoint> find_resume_point(const Benchmark& b, int experiment);

}  // namespace strata::harness
