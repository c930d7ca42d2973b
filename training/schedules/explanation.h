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
  std::string block;             // "layer_3"; empty: the task is of no block
  std::vector<Range> gradients;  // that become ready: arena elements
  std::vector<int> buckets;      // that are ready whole with them: they may be clipped and reduced
  int peer = -1;                 // the stage that it sends to or receives from
};

// `layout`: of the model, or of the schedule's stage of it; `buckets`: of the gradients in it.
// `early_words`: see ParameterLayout::completes. Throws Error where the schedule is for another
// number of blocks.
std::vector<ExplainedTask> explain(const Schedule& schedule, const bert::ParameterLayout& layout,
                                   const std::vector<Range>& buckets, bool early_words = false);

}  // namespace strata::training
