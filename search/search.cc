#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::search {
namespace {

constexpr auto kBetweenPolls = std::chrono::milliseconds(200);

bool is_done(const TrialLog& log, const TrialRun& run) {
  const FinishedRun* found = log.find(run);
  return found && found->result.ending != Ending::kFailed;
}

// Starts the missing runs of `state`. Returns whether all have ended.
bool run_stage(const SearchPlan& plan, TrialLog& log, TrialRunner& runner, const SearchHooks& hooks,
               SearchState& state) {
  std::vector<TrialRun> left;
  for (const TrialRun& run : state.runs) {
    if (!is_done(log, run)) left.push_back(run);
  }
  std::ranges::reverse(left);
  state.ended = state.runs.size() - left.size();
  while (!left.empty() || !state.under_way.empty()) {
    if (hooks.is_stopped()) {
      while (const auto ended = runner.poll()) {
        log.add({ended->run, settings_of(plan, ended->run.trial), ended->result});
      }
      return false;
    }
    while (!left.empty() && std::ssize(state.under_way) < runner.slots()) {
      const TrialRun run = left.back();
      left.pop_back();
      runner.start(run, settings_of(plan, run.trial), samples_of(plan, run.stage));
      state.under_way.push_back(run);
    }
    const auto ended = runner.poll();
    if (!ended) {
      hooks.show(state, nullptr);
      std::this_thread::sleep_for(kBetweenPolls);
      continue;
    }
    const FinishedRun finished{ended->run, settings_of(plan, ended->run.trial), ended->result};
    log.add(finished);
    std::erase(state.under_way, ended->run);
    ++state.ended;
    hooks.show(state, &finished);
  }
  return true;
}

void check_stage(const TrialLog& log, const SearchState& state) {
  const RunResult* first = nullptr;
  for (const TrialRun& run : state.runs) {
    const FinishedRun* found = log.find(run);
    if (found->result.ending != Ending::kFailed) return;
    if (!first) first = &found->result;
  }
  fail("{}: {} failed; the first error: {}", name_of_stage(state.stage),
       state.runs.size() == 1 ? "the only run" : "all " + counted(state.runs.size(), "run"),
       first->message);
}

}  // namespace

bool run_search(const SearchPlan& plan, TrialLog& log, TrialRunner& runner,
                const SearchHooks& hooks) {
  for (const int stage : stages_of(plan)) {
    SearchState state;
    state.stage = stage;
    state.runs = runs_of_stage(plan, log, stage);
    if (!run_stage(plan, log, runner, hooks, state)) return false;
    check_stage(log, state);
  }
  return true;
}

}  // namespace strata::search
