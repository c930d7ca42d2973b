// Which trials go on (Jamieson & Talwalkar, "Non-stochastic best arm identification and
// hyperparameter optimization", AISTATS 2016): all runs of a rung end before the next one begins,
// so that a search repeated makes the same runs, however many run at a time.
#pragma once

#include <vector>

#include "search/trial_log.h"

namespace strata::search {

std::vector<int> stages_of(const SearchPlan& plan);  // the rungs and the finals
// How many of a rung's runs go on to the next.
size_t going_on(const SearchPlan& plan, size_t runs);
int64_t samples_of(const SearchPlan& plan, int stage);

// The runs of a stage, by trial and seed; all of the stage before are in `log`. On a rung: the best
// of the one before, one in `eta`; on the first, every trial and the configuration as it is. In the
// finals: the best of the last rung and the configuration as it is, with `seeds` seeds each. Trials
// whose runs failed do not go on.
std::vector<TrialRun> runs_of_stage(const SearchPlan& plan, const TrialLog& log, int stage);

// Those of them that have ended, best first; equal ones by trial. Runs of the log that a stage has
// no more, because one before it was made again, do not count.
std::vector<const FinishedRun*> ranking(const SearchPlan& plan, const TrialLog& log, int stage);

}  // namespace strata::search
