// Successive halving (Jamieson & Talwalkar, "Non-stochastic best arm identification and
// hyperparameter optimization", AISTATS 2016). All runs of a rung end before the next one begins,
// so that a repeated search makes the same runs, however many run at a time.
#pragma once

#include <vector>

#include "search/trial_log.h"

namespace strata::search {

std::vector<int> stages_of(const SearchPlan& plan);  // the rungs and the finals
// Returns how many of a rung's runs advance to the next.
size_t going_on(const SearchPlan& plan, size_t runs);
int64_t samples_of(const SearchPlan& plan, int stage);

// Returns the runs of a stage, by trial and seed. Requires all runs of the stage before in `log`.
// The first rung has every trial and the unchanged configuration (trial 0). A later rung has the
// best of the one before, one in `eta`. The finals have the best of the last rung and trial 0, with
// `seeds` seeds each. Trials whose runs failed do not advance.
std::vector<TrialRun> runs_of_stage(const SearchPlan& plan, const TrialLog& log, int stage);

// Returns the ended runs of a stage, best first, and equal ones by trial. Ignores logged runs that
// no longer belong to the stage, because an earlier run was repeated.
std::vector<const FinishedRun*> ranking(const SearchPlan& plan, const TrialLog& log, int stage);

}  // namespace strata::search
