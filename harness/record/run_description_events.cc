#include "harness/record/run_description_events.h"

#include "harness/record/run_log.h"

namespace strata::harness {
namespace {

void log_submission(mllog::LogWriter& log, const config::RunConfig& config,
                    const std::string& platform) {
  log.event(log_keys::kSubmissionBenchmark, "bert");
  log.event(log_keys::kSubmissionOrg, config.run.organization);
  log.event(log_keys::kSubmissionDivision, name_of(config.run.division));
  log.event(log_keys::kSubmissionStatus, name_of(config.run.status));
  log.event(log_keys::kSubmissionPlatform, config.run.platform.value_or(platform));
}

void log_optimizer(mllog::LogWriter& log, const config::OptimizerConfig& optimizer) {
  log.event(log_keys::kOptName, name_of(optimizer.name));
  log.event(log_keys::kOptBaseLearningRate, optimizer.lr);
  // The rules before round 2.1 ask for the first of these two, later rules for the second.
  log.event(log_keys::kOptEpsilon, optimizer.epsilon);
  log.event(log_keys::kOptLambEpsilon, optimizer.epsilon);
  log.event(log_keys::kOptLambBeta1, optimizer.beta1);
  log.event(log_keys::kOptLambBeta2, optimizer.beta2);
  log.event(log_keys::kOptLambWeightDecayRate, optimizer.weight_decay);
}

void log_lr_schedule(mllog::LogWriter& log, const config::LrScheduleConfig& schedule) {
  log.event(log_keys::kOptTrainingSteps, schedule.training_steps);
  log.event(log_keys::kOptWarmupSteps, schedule.warmup_steps);
  log.event(log_keys::kNumWarmupSteps, schedule.warmup_steps);
  log.event(log_keys::kStartWarmupStep, schedule.start_warmup_step);
  log.event(log_keys::kOptEndLearningRate, schedule.end_lr);
  log.event(log_keys::kOptLambPolyPower, schedule.power);
}

}  // namespace

void log_run_description(mllog::LogWriter& log, const config::RunConfig& config,
                         const RunFacts& facts) {
  log_submission(log, config, facts.platform);
  log.event(log_keys::kSeed, facts.seed);
  log.event(log_keys::kGlobalBatchSize, global_batch_size(config, facts.ranks));
  log.event(log_keys::kGradientAccumulationSteps, config.batch.gradient_accumulation_steps);
  log.event(log_keys::kMaxPredictionsPerSeq, config.data.max_predictions_per_seq);
  log.event(log_keys::kQualityTarget, config.target.masked_lm_accuracy);
  log_optimizer(log, config.optimizer);
  log_lr_schedule(log, config.lr_schedule);
}

void log_weights_initialization(mllog::LogWriter& log, std::span<const std::string> tensors) {
  for (const std::string& tensor : tensors) {
    log.event(log_keys::kWeightsInitialization, {}, {{log_keys::kTensor, tensor}});
  }
}

void log_run_samples(mllog::LogWriter& log, int64_t trained_samples, int64_t eval_samples) {
  log.event(log_keys::kTrainSamples, trained_samples);
  log.event(log_keys::kEvalSamples, eval_samples);
}

}  // namespace strata::harness
