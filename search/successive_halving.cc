#include "search/successive_halving.h"

#include <algorithm>
#include <numeric>

namespace strata::search {
namespace {

// Returns the trials of the best runs, at most `count`.
std::vector<int> best(const std::vector<const FinishedRun*>& ranked, size_t count) {
  std::vector<int> trials;
  for (const FinishedRun* run : ranked) {
    if (trials.size() == count || run->result.ending == Ending::kFailed) break;
    trials.push_back(run->run.trial);
  }
  return trials;
}

}  // namespace

std::vector<int> stages_of(const SearchPlan& plan) {
  std::vector<int> stages(plan.rungs.size());
  std::iota(stages.begin(), stages.end(), 0);
  stages.push_back(kFinals);
  return stages;
}

int64_t samples_of(const SearchPlan& plan, int stage) {
  return stage == kFinals ? plan.final_samples : plan.rungs[static_cast<size_t>(stage)];
}

size_t going_on(const SearchPlan& plan, size_t runs) {
  return std::max<size_t>(runs / static_cast<size_t>(plan.eta), 1);
}

std::vector<const FinishedRun*> ranking(const SearchPlan& plan, const TrialLog& log, int stage) {
  std::vector<const FinishedRun*> ranked;
  for (const TrialRun& run : runs_of_stage(plan, log, stage)) {
    if (const FinishedRun* found = log.find(run)) ranked.push_back(found);
  }
  std::ranges::stable_sort(ranked, [&](const FinishedRun* a, const FinishedRun* b) {
    return is_better(a->result, b->result, plan.objective);
  });
  return ranked;
}

std::vector<TrialRun> runs_of_stage(const SearchPlan& plan, const TrialLog& log, int stage) {
  std::vector<TrialRun> runs;
  if (stage == 0) {
    for (int trial = kBaseTrial; trial <= plan.trials; ++trial) {
      runs.push_back({trial, stage, plan.seed});
    }
    return runs;
  }
  const bool finals = stage == kFinals;
  const int stage_before = finals ? static_cast<int>(plan.rungs.size()) - 1 : stage - 1;
  const std::vector<const FinishedRun*> before = ranking(plan, log, stage_before);
  std::vector<int> trials =
      best(before, finals ? static_cast<size_t>(plan.finalists) : going_on(plan, before.size()));
  if (finals && std::ranges::find(trials, kBaseTrial) == trials.end()) trials.push_back(kBaseTrial);
  std::ranges::sort(trials);
  for (const int trial : trials) {
    if (!finals) runs.push_back({trial, stage, plan.seed});
    for (int i = 1; finals && i <= plan.seeds; ++i) {
      runs.push_back({trial, stage, plan.seed + static_cast<uint64_t>(i)});
    }
  }
  return runs;
}

}  // namespace strata::search
