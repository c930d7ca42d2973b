// Fits a line by gradient descent to a target error, and keeps an MLPerf log of it.
// Usage: toy_training LOG
#include <strata/mllog/log_keys.h>
#include <strata/mllog/log_reader.h>
#include <strata/mllog/log_writer.h>

#include <cstdio>
#include <exception>

namespace mllog = strata::mllog;
namespace keys = strata::mllog::keys;

namespace {

constexpr int kSamplesAStep = 16, kStepsAnEvaluation = 20, kMostSteps = 2000;
constexpr double kTarget = 0.9, kLearningRate = 0.1;

// y = slope * x, of data that lie on slope 3.
struct Line {
  double slope = 0;
  void step() {
    double gradient = 0;
    for (int i = 1; i <= kSamplesAStep; ++i) {
      const double x = static_cast<double>(i) / kSamplesAStep;
      gradient += 2 * (slope - 3) * x * x / kSamplesAStep;
    }
    slope -= kLearningRate * gradient;
  }
  double accuracy() const { return 1 - (3 - slope) / 3; }
};

// Writes the events that the rules of a BERT benchmark ask of every log.
void describe(mllog::LogWriter& log) {
  log.event(keys::kSubmissionBenchmark, "bert");
  log.event(keys::kSubmissionOrg, "Example");
  log.event(keys::kSubmissionDivision, "open");
  log.event(keys::kSubmissionStatus, "onprem");
  log.event(keys::kSubmissionPlatform, "1 x computer", {{"cores", mllog::Json{"[0, 1]"}}});
  log.event(keys::kSeed, 42);
  log.event(keys::kGlobalBatchSize, kSamplesAStep);
  log.event(keys::kGradientAccumulationSteps, 1);
  log.event(keys::kOptBaseLearningRate, kLearningRate);
  for (const char* key :
       {keys::kOptEpsilon, keys::kOptLambEpsilon, keys::kOptLambBeta1, keys::kOptLambBeta2,
        keys::kOptLambWeightDecayRate, keys::kOptTrainingSteps, keys::kOptWarmupSteps,
        keys::kNumWarmupSteps, keys::kStartWarmupStep}) {
    log.event(key, 0);
  }
  log.event(keys::kTrainSamples, kSamplesAStep);
  log.event(keys::kEvalSamples, kSamplesAStep);
}

bool train(mllog::LogWriter& log) {
  Line line;
  bool reached = false;
  int step = 0;
  log.start(keys::kRunStart);
  log.start(keys::kBlockStart,
            {{keys::kFirstEpochNum, 0}, {keys::kEpochCount, kMostSteps * kSamplesAStep}});
  while (!reached && step < kMostSteps) {
    for (int i = 0; i < kStepsAnEvaluation; ++i, ++step) line.step();
    const mllog::EventMetadata samples = {{keys::kEpochNum, step * kSamplesAStep}};
    log.start(keys::kEvalStart, samples);
    const double accuracy = line.accuracy();
    log.end(keys::kEvalStop, {}, samples);
    log.event(keys::kEvalAccuracy, accuracy, samples);
    reached = accuracy >= kTarget;
  }
  log.end(keys::kBlockStop, {}, {{keys::kFirstEpochNum, 0}});
  log.end(keys::kRunStop, {}, {{keys::kStatus, reached ? keys::kSuccess : keys::kAborted}});
  return reached;
}

// The log again, as a program that draws it would read it.
void print_accuracies(const char* path) {
  const mllog::LogReader log(path);
  for (const mllog::Event& event : log.events()) {
    if (event.key != keys::kEvalAccuracy) continue;
    const auto samples = mllog::find_field(event.metadata, keys::kEpochNum);
    std::printf("%.*s samples: accuracy %.4f\n", static_cast<int>(samples->size()), samples->data(),
                std::get<double>(mllog::parse_value(event.value)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: toy_training LOG\n");
    return 2;
  }
  try {
    mllog::LogWriter log(argv[1]);
    log.event(keys::kCacheClear, true);
    log.start(keys::kInitStart);
    describe(log);
    log.end(keys::kInitStop);
    const bool reached = train(log);
    print_accuracies(argv[1]);
    return reached ? 0 : 1;
  } catch (const std::exception& error) {  // no space, no permission, a log that is there
    std::fprintf(stderr, "toy_training: %s\n", error.what());
    return 2;
  }
}
