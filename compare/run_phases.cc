#include "compare/run_phases.h"

#include <cmath>

namespace strata::compare {
namespace {

constexpr double kMsPerSecond = 1000;

class PhaseReader {
 public:
  void take(const mllog::Event& event) {
    if (event.key == "run_start") {
      *this = PhaseReader();
      run_start_ = event.time_ms;
    }
    if (!run_start_ || phases_) return;
    if (event.key == "block_start" || event.key == "epoch_start") {
      if (!first_block_) first_block_ = event.time_ms;
    } else if (event.key == "eval_start") {
      eval_start_ = event.time_ms;
    } else if (event.key == "eval_stop" && eval_start_) {
      evaluation_ms_ = evaluation_ms_.value_or(0) + event.time_ms - *eval_start_;
      eval_start_.reset();
    } else if (event.key == "run_stop") {
      finish(event.time_ms);
    }
  }
  const std::optional<RunPhases>& phases() const { return phases_; }

 private:
  void finish(double run_stop) {
    RunPhases phases;
    phases.total = (run_stop - *run_start_) / kMsPerSecond;
    if (first_block_) phases.start = (*first_block_ - *run_start_) / kMsPerSecond;
    if (evaluation_ms_) phases.evaluation = *evaluation_ms_ / kMsPerSecond;
    if (std::isfinite(phases.total) && std::isfinite(phases.training())) phases_ = phases;
  }

  std::optional<double> run_start_, first_block_, eval_start_, evaluation_ms_;
  std::optional<RunPhases> phases_;
};

}  // namespace

std::optional<RunPhases> read_phases(const mllog::LogReader& log) {
  PhaseReader reader;
  log.visit([&](const mllog::Event& event) {
    reader.take(event);
    return true;
  });
  return reader.phases();
}

}  // namespace strata::compare
