#include "harness/resume/last_checkpoint.h"

#include <algorithm>

#include "base/error.h"
#include "harness/resume/checkpoints.h"

namespace strata::harness {
namespace {

// Returns on all ranks whether the experiment's log begins with its contents at `point`.
bool log_is_of(const Benchmark& b, int experiment, const ResumePoint& point) {
  bool same = true;
  if (b.ranks.first()) {
    same = begins_as_at(b.tree().log(experiment), point);
    if (!same) {
      b.say(fmt::format("{}: is not the log of the checkpoint after step {}",
                        b.tree().log(experiment).string(), point.step));
    }
  }
  b.ranks.share(same);
  return same;
}

// Returns on all ranks the steps of an experiment's checkpoints, last first.
std::vector<int64_t> shared_checkpoint_steps(const Benchmark& b, int experiment) {
  std::vector<int64_t> steps;
  if (b.ranks.first()) steps = checkpoint_steps(b.tree().checkpoints(experiment));
  b.ranks.share(steps);
  return steps;
}

// Returns the first of `steps` whose checkpoint is whole and belongs to the experiment's log.
std::optional<ResumePoint> last_whole(const Benchmark& b, int experiment,
                                      const std::vector<int64_t>& steps) {
  for (const int64_t step : steps) {
    const std::filesystem::path folder = checkpoint_folder(b.tree().checkpoints(experiment), step);
    const auto facts = b.system.checkpoint_facts(folder, b.say);
    if (!facts) continue;
    const std::optional<ResumePoint> point = parse_note(facts->note);
    if (!point || facts->step != step || point->step != step) {
      b.say(fmt::format("{}: is the checkpoint of another step", folder.string()));
    } else if (log_is_of(b, experiment, *point)) {
      return point;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ResumePoint> last_whole_checkpoint(const Benchmark& b, int experiment) {
  return last_whole(b, experiment, shared_checkpoint_steps(b, experiment));
}

std::optional<ResumePoint> find_resume_point(const Benchmark& b, int experiment) {
  if (std::ranges::count(b.results.interrupted, experiment) == 0) return std::nullopt;
  const std::filesystem::path checkpoints = b.tree().checkpoints(experiment);
  const std::vector<int64_t> steps = shared_checkpoint_steps(b, experiment);
  if (const auto point = last_whole(b, experiment, steps)) return point;
  bool lost = std::ranges::any_of(
      steps, [&](int64_t step) { return is_marked_whole(checkpoint_folder(checkpoints, step)); });
  b.ranks.share(lost);
  if (!lost && b.results.on_other_ranks) {
    fail(
        "{}: has no complete checkpoint, and the run cannot start again on another number of "
        "ranks, because that would be another system; start as many ranks as it began with, or "
        "choose another run.output",
        checkpoints.string());
  }
  if (!lost) {
    if (b.ranks.first()) archive_interrupted(b.tree(), experiment, b.say);
    return std::nullopt;
  }
  fail(
      "{}: no checkpoint is usable; see the reasons above. --continue archives the run and runs it "
      "again",
      checkpoints.string());
}

}  // namespace strata::harness
