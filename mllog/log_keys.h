// Keys and fixed values of MLPerf training logs (mlperf_logging's mllog/constants.py).
#pragma once

namespace strata::mllog::keys {

inline constexpr char kSubmissionBenchmark[] = "submission_benchmark";
inline constexpr char kSubmissionOrg[] = "submission_org";
inline constexpr char kSubmissionDivision[] = "submission_division";
inline constexpr char kSubmissionStatus[] = "submission_status";
inline constexpr char kSubmissionPlatform[] = "submission_platform";

inline constexpr char kCacheClear[] = "cache_clear";
inline constexpr char kInitStart[] = "init_start";
inline constexpr char kInitStop[] = "init_stop";
inline constexpr char kRunStart[] = "run_start";
inline constexpr char kRunStop[] = "run_stop";
inline constexpr char kBlockStart[] = "block_start";
inline constexpr char kBlockStop[] = "block_stop";
inline constexpr char kEpochStart[] = "epoch_start";
inline constexpr char kEpochStop[] = "epoch_stop";
inline constexpr char kEvalStart[] = "eval_start";
inline constexpr char kEvalStop[] = "eval_stop";
inline constexpr char kEvalAccuracy[] = "eval_accuracy";

// Strata's own events, which MLPerf's rules do not define.
inline constexpr char kCheckpoint[] = "checkpoint";  // after step "value"
inline constexpr char kResumed[] = "resumed";        // from the checkpoint after step "value"

inline constexpr char kSeed[] = "seed";
inline constexpr char kTrainSamples[] = "train_samples";
inline constexpr char kEvalSamples[] = "eval_samples";
inline constexpr char kQualityTarget[] = "quality_target";
inline constexpr char kWeightsInitialization[] = "weights_initialization";

inline constexpr char kGlobalBatchSize[] = "global_batch_size";
inline constexpr char kGradientAccumulationSteps[] = "gradient_accumulation_steps";
inline constexpr char kMaxPredictionsPerSeq[] = "max_predictions_per_seq";
inline constexpr char kOptName[] = "opt_name";
inline constexpr char kOptBaseLearningRate[] = "opt_base_learning_rate";
inline constexpr char kOptEndLearningRate[] = "opt_end_learning_rate";
inline constexpr char kOptEpsilon[] = "opt_epsilon";
inline constexpr char kOptLambEpsilon[] = "opt_lamb_epsilon";
inline constexpr char kOptLambBeta1[] = "opt_lamb_beta_1";
inline constexpr char kOptLambBeta2[] = "opt_lamb_beta_2";
inline constexpr char kOptLambWeightDecayRate[] = "opt_lamb_weight_decay_rate";
inline constexpr char kOptLambPolyPower[] = "opt_lamb_learning_rate_decay_poly_power";
inline constexpr char kOptTrainingSteps[] = "opt_learning_rate_training_steps";
inline constexpr char kOptWarmupSteps[] = "opt_learning_rate_warmup_steps";
inline constexpr char kNumWarmupSteps[] = "num_warmup_steps";
inline constexpr char kStartWarmupStep[] = "start_warmup_step";

// Keys and values of metadata.
inline constexpr char kStatus[] = "status";
inline constexpr char kSuccess[] = "success";
inline constexpr char kAborted[] = "aborted";
inline constexpr char kTensor[] = "tensor";
inline constexpr char kEpochNum[] = "epoch_num";
inline constexpr char kFirstEpochNum[] = "first_epoch_num";
inline constexpr char kEpochCount[] = "epoch_count";
inline constexpr char kRanks[] = "ranks";
inline constexpr char kOffCadence[] =
    "off_cadence";  // Strata's own key: true if an evaluation is not on the schedule

}  // namespace strata::mllog::keys
