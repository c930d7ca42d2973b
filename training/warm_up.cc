#include "training/warm_up.h"

#include <algorithm>

#include "base/timing.h"
#include "data/files/sample_classes.h"
#include "training/batches/batch_shapes.h"
#include "training/batches/synthetic_batch.h"
#include "training/evaluation.h"

namespace strata::training {
namespace {

// Shapes are taken from the steps that draw kMostSamples samples over all ranks, but from at least
// kFewSteps steps. This takes a second.
constexpr int64_t kMostSamples = int64_t{1} << 23, kFewSteps = 1000;
constexpr uint64_t kMlperfEvaluationSamples = 10'000;

// Returns a micro-batch. Over all `steps` its lengths cover every block size that GEMMs are
// compiled for, as far as memory allows.
data::PackedBatch batch_of_many_lengths(const bert::Model& model, int step, int steps) {
  bert::BatchCapacity room = model.capacity();
  std::vector<int32_t> lengths, masked;
  for (int64_t i = 0; i < room.sequences && room.tokens > 0; ++i) {
    const int64_t length = 32 * ((i * steps + step) % 16 + 1) - step % 7;
    lengths.push_back(
        static_cast<int32_t>(std::min({length, model.config().max_positions, room.tokens})));
    masked.push_back(
        static_cast<int32_t>(std::min<int64_t>(std::max(lengths.back() / 7, 1), room.masked)));
    room.tokens -= lengths.back();
    room.masked -= masked.back();
  }
  return synthetic_batch(model.config(), lengths, masked, static_cast<uint64_t>(step));
}

class Preparation {
 public:
  // `classes` describes the training set. Without samples no shape is known.
  Preparation(const config::RunConfig& config, const data::SampleClasses& classes,
              bert::Model& model, Trainer& trainer)
      : model_(model),
        trainer_(trainer),
        first_step_(model.rounding()),
        training_(model.rounding()),
        evaluation_(model.rounding()) {
    if (classes.samples() == 0) return;
    const int64_t most_steps = std::max(kMostSamples / trainer.global_batch(), kFewSteps);
    trainer.visit_micro_batches(classes, std::min(max_steps(config), most_steps),
                                [&](int64_t step, std::span<const SampleShape> samples) {
                                  training_.add(samples);
                                  if (step == 1) first_step_.add(samples);
                                });
    add_evaluation(config, classes);
  }

  // Has the device autotune all numbers of rows. Returns the number of micro-batches that it ran.
  int try_out(int64_t rows) {
    const auto trained = training_.covering(rows), evaluated = evaluation_.covering(rows);
    // FP8 begins with the second step.
    if (model_.in_float8()) {
      begin_step();
      for (const auto& samples : first_step_.covering(rows))
        train(synthetic_batch(model_.config(), samples));
    }
    begin_step();
    for (const auto& samples : trained) train(synthetic_batch(model_.config(), samples));
    for (const auto& samples : evaluated) {
      model_.evaluate(synthetic_batch(model_.config(), samples));
    }
    return static_cast<int>(trained.size() + evaluated.size());
  }

  void dry_run_step(const data::PackedBatch& batch) {
    begin_step();
    trainer_.dry_run_step(batch, step_);
    model_.evaluate(batch);
  }

  // Captures the graphs of as many shapes as memory allows, after a step. Returns their number.
  int capture_graphs() {
    begin_step();
    int captured = 0;
    for (const auto& samples : training_.most_frequent()) {
      const data::PackedBatch batch = synthetic_batch(model_.config(), samples);
      train(batch);
      if (!trainer_.capture_graphs(batch, step_)) break;
      ++captured;
    }
    return captured;
  }

 private:
  void begin_step() { ++step_.step; }
  // Assumes that the evaluation set's samples are like evenly chosen ones of the training set. A
  // set of unknown size has MLPerf's number of samples, or the training set's if that is smaller.
  void add_evaluation(const config::RunConfig& config, const data::SampleClasses& classes) {
    const uint64_t samples = config.data.eval_samples > 0
                                 ? static_cast<uint64_t>(config.data.eval_samples)
                                 : std::min(classes.samples(), kMlperfEvaluationSamples);
    std::vector<SampleShape> shapes;
    std::vector<uint16_t> lengths;
    for (uint64_t i = 0; i < samples; ++i) {
      shapes.push_back(shape_of(classes.of((2 * i + 1) * classes.samples() / (2 * samples))));
      lengths.push_back(static_cast<uint16_t>(shapes.back().length));
    }
    std::vector<SampleShape> micro_batch;
    for (const auto& own : evaluation_micro_batches(
             lengths, std::ssize(lengths), config.batch.micro_batch, trainer_.replicas())) {
      micro_batch.clear();
      for (const uint32_t sample : own) micro_batch.push_back(shapes[sample]);
      evaluation_.add(micro_batch);
    }
  }

  // Trains on `batch` as a step's first micro-batch and, if steps have several, as a later one.
  void train(const data::PackedBatch& batch) {
    bert::TrainingStep micro_batch = step_;
    model_.train(batch, micro_batch, {});
    micro_batch.accumulate = true;
    if (trainer_.accumulates()) model_.train(batch, micro_batch, {});
  }

  bert::Model& model_;
  Trainer& trainer_;
  BatchShapes first_step_, training_, evaluation_;
  bert::TrainingStep step_{
      .step = 1, .masked_lm_scale = 0.0f, .next_sentence_scale = 0.0f, .token_scale = 0.0f};
};

}  // namespace

WarmUp warm_up(const config::RunConfig& config, bert::Model& model,
               const bert::HostWeights& weights, Trainer& trainer) {
  WarmUp result;
  const int steps = config.initialization.warmup_steps;
  if (steps == 0) return result;
  const auto begin = Clock::now();
  const int64_t rows = model.backend().autotune_row_granularity();
  const bool by_shape = rows > 0 || trainer.captures_graphs();
  data::SampleClasses classes;
  if (by_shape && config.data.shapes) classes = data::read_sample_classes(*config.data.shapes);
  Preparation preparation(config, classes, model, trainer);
  if (rows > 0) result.tried = preparation.try_out(rows);
  for (int step = 0; step < steps; ++step) {
    preparation.dry_run_step(batch_of_many_lengths(model, step, steps));
  }
  if (trainer.captures_graphs()) result.captured = preparation.capture_graphs();
  result.graphs = trainer.captured_graphs();
  model.take_losses();
  model.take_evaluation_losses();
  model.set_weights(weights);
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace strata::training
