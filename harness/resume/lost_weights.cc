#include "harness/resume/lost_weights.h"

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::harness {

void write_lost_weights(SystemUnderTest& system, const std::filesystem::path& folder,
                        const ResumePoint& point, int64_t samples,
                        const std::filesystem::path& file, const Say& say) {
  system.prepare(point.seed, {.checkpoint = file, .resumed = true}, say);
  system.warm_up(say);
  system.restore(folder);
  system.barrier();
  const DataFacts data = system.start();
  if (data.train_samples != point.train_samples || data.eval_samples != point.eval_samples ||
      data.checksum != point.data_checksum) {
    fail(
        "the data have changed since the run, which had {} and {}; give data.train and data.eval "
        "as "
        "they were",
        counted(point.train_samples, "training sample"),
        counted(point.eval_samples, "evaluation sample"));
  }
  for (int64_t trained = point.samples; trained < samples;) trained = system.train_step().samples;
  system.save();
}

}  // namespace strata::harness
