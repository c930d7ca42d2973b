#include "harness/resume/lost_weights.h"

#include "base/error.h"
#include "base/text/counts.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/last_checkpoint.h"

namespace strata::harness {
namespace {

void train_to_end(const Benchmark& b, const std::filesystem::path& folder, const ResumePoint& point,
                  int64_t samples, const std::filesystem::path& file) {
  SystemUnderTest& system = b.system;
  system.prepare(point.seed, {.checkpoint = file, .resumed = true}, b.say);
  system.warm_up(b.say);
  system.restore(folder);
  b.ranks.barrier();
  const DataFacts data = system.start();
  if (data.train_samples != point.train_samples || data.eval_samples != point.eval_samples ||
      data.checksum != point.data_checksum) {
    fail(
        "the data have changed since the run, which had {} and {}; give the same data.train and "
        "data.eval",
        counted(point.train_samples, "training sample"),
        counted(point.eval_samples, "evaluation sample"));
  }
  for (int64_t trained = point.samples; trained < samples;) trained = system.train_step().samples;
  system.save();
}

}  // namespace

void write_lost_weights(const Benchmark& b, const ExperimentResult& result) {
  const int experiment = result.experiment;
  int64_t samples = result.samples;  // other ranks than the first do not know them
  b.ranks.share(samples);
  const auto point = last_whole_checkpoint(b, experiment);
  if (!point) {
    b.say(
        fmt::format("result_{}: its weights are missing, and no checkpoint in {} is usable; see "
                    "the reasons above",
                    experiment, b.tree().checkpoints(experiment).string()));
    return;
  }
  b.say(
      fmt::format("result_{}: its weights are missing; to write them, training continues from the "
                  "checkpoint after {} of the run's {}",
                  experiment, count_text(point->samples), counted(samples, "sample")));
  const auto folder = checkpoint_folder(b.tree().checkpoints(experiment), point->step);
  train_to_end(b, folder, *point, samples, b.tree().checkpoint(experiment));
  b.ranks.barrier();
  if (!b.ranks.first()) return;
  std::error_code ignored;
  std::filesystem::remove_all(b.tree().checkpoints(experiment), ignored);
  b.say(fmt::format("result_{}: its weights are written to {}", experiment,
                    b.tree().checkpoint(experiment).string()));
}

}  // namespace strata::harness
