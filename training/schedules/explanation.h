// A schedule in words: what each task is of, and what becomes ready with it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/range.h"
#include "bert/parameters.h"
#include "training/schedules/schedule.h"

namespace strata::training {

struct ExplainedTask {
  Task task;
  std::string block;  // "layer_3"; empty: the task is of no block
  // That become ready, in the middle of a backward where halves of layers do: arena elements.
  std::vector<Range> gradients;
  std::vector<int> buckets;  // that are ready whole with them: they may be clipped and reduced
  int peer = -1;             // the stage that it sends to or receives from
};

// `layout`: of the model, or of the schedule's stage of it; `buckets`: of the gradients in it.
// `early_words`: see ParameterLayout::completes; `half_layers`: see bert::ModelOptions. Throws
// Error where the schedule is for another number of blocks.
std::vector<ExplainedTask> explain(const Schedule& schedule, const bert::ParameterLayout& layout,
                                   const std::vector<Range>& buckets, bool early_words = false,
                                   bool half_layers = false);

}  // namespace strata::training
