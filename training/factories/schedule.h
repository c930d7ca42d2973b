// The schedule of a step.
#pragma once

#include <optional>

#include "bert/config.h"
#include "bert/stage.h"
#include "config/run_config.h"
#include "training/schedules/schedule.h"
#include "training/schedules/step_list.h"

namespace strata::training {

// The stage of a rank in the pipeline, or in the ring of modules.
bert::Stage stage_of_rank(const config::RunConfig& config, int rank);

// The schedule of a stage on `ranks` ranks that reduce together.
Schedule make_schedule(const config::RunConfig& config, const bert::BertConfig& model,
                       int ranks = 1, const bert::Stage& stage = {});

// The schedule that follows after `ouroboros.warmup_steps`; nullopt without modules.
std::optional<DelayedWork> make_delayed_work(const config::RunConfig& config,
                                             const bert::BertConfig& model,
                                             const bert::Stage& stage);

// Plans a step on `ranks` ranks that reduce together. With modules, plans a step with delayed
// backward, unless `ouroboros.warmup_steps` is kNeverDelayed.
StepPlan step_plan(const config::RunConfig& config, const bert::BertConfig& model, int ranks,
                   const bert::Stage& stage);

}  // namespace strata::training
