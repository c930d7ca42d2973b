// Tests modules with delayed gradients on all ranks, which are one fewer than modules. A single
// process computes the expected result in double: the whole model's gradient of every step goes
// into queues, and each module takes it after its delay.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "optim/lr_schedule.h"
#include "tests/support/deferred_backend.h"
#include "tests/training/counting_device.h"
#include "tests/training/small_training.h"
#include "training/factories/data.h"
#include "training/factories/optimizer.h"

namespace strata::training {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int kSamples = 48, kSteps = 20;

using config::ClipMode;
using config::OptimizerKind;
using config::TiedGradient;

struct Case {
  TiedGradient tied;
  int64_t warmup_steps;
  ClipMode clip = ClipMode::kNone;
  OptimizerKind optimizer = OptimizerKind::kAdam;
};

constexpr double kMaxNorm = 0.3;

config::RunConfig run_of(const Case& test, int modules) {
  config::RunConfig config = small_run();
  config.ouroboros = {modules, test.warmup_steps, test.tied};
  config.clip = {test.clip, kMaxNorm};
  config.optimizer.name = test.optimizer;
  config.optimizer.weight_decay = 0.1;
  config.batch.micro_batch = 3;
  config.reduce.bucket_megabytes = 0.004;
  return config;
}

config::RunConfig in_double(config::RunConfig config) {
  config.device.backend = &device::find_backend("reference");
  return config;
}

// One layer more than modules, with dropout, which a delayed backward must repeat.
bert::BertConfig model_of(int modules) {
  bert::BertConfig config = small_bert(modules + 1);
  config.hidden_size = config.intermediate_size = 32;
  return config;
}

// Returns a layer's module if `layers` = K + 1 are divided among K modules: the second has two.
int module_of_layer(int layer) { return layer == 0 ? 1 : std::max(layer, 2); }

// The definition (Yang et al., arXiv 1909.06695), with modules k = 1 ... K:
//   w_k <- w_k - eta g_k(x_{t-K+k}; w^{t-K+k}).
class Oracle {
 public:
  Oracle(const config::RunConfig& config, const bert::BertConfig& bert,
         const data::InstanceSource& source)
      : config_(config),
        source_(source),
        backend_(make_backend(config)),
        model_(bert, *backend_, capacity_of(source, config.batch.micro_batch),
               {.word_gradient = bert::WordGradient::kSplitForGood}),
        batch_plan_(loadbalance::make_batch_plan(
            batch_plan_options(config, config.ouroboros.modules - 1, kSeed),
            histogram_of(source.index().classes()))) {
    model_.set_weights(bert::random_weights(model_.layout(), kSeed));
    const auto* first = model_.master_weights().as<double>();
    weights_.assign(first, first + model_.layout().size);
    first_moment_.resize(weights_.size());
    second_moment_.resize(weights_.size());
  }

  const std::vector<double>& weights() const { return weights_; }
  const bert::ParameterLayout& layout() const { return model_.layout(); }
  double norm() const { return norm_; }

  void step() {
    ++step_;
    const int modules = config_.ouroboros.modules;
    queue_.push_front(whole_gradient());
    if (std::ssize(queue_) > modules) queue_.pop_back();
    const bool delayed = step_ > config_.ouroboros.warmup_steps;
    // The steps since the warm-up, which have delayed gradients.
    const int64_t since = step_ - config_.ouroboros.warmup_steps;
    const auto age_of = [&](int module) { return delayed ? modules - module : 0; };
    const auto is_there = [&](int module) { return !delayed || age_of(module) < since; };

    const bert::ParameterLayout& layout = model_.layout();
    std::vector<double> gradient(weights_.size());
    std::vector<bool> updated(weights_.size(), true);
    for (const std::string& group : layout.groups) {
      const int module = group == "heads"        ? modules
                         : group == "embeddings" ? 1
                                                 : module_of_layer(std::stoi(group.substr(6)));
      const Range range = layout.group(group);
      for (auto i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i) {
        updated[i] = is_there(module);
        if (updated[i]) gradient[i] = queue_[static_cast<size_t>(age_of(module))].own[i];
      }
    }
    // The tied words sum this step's part of the heads and the input's part of K - 1 steps ago.
    const Range words = layout.words();
    for (int64_t i = words.begin; i < words.end; ++i) {
      const auto at = static_cast<size_t>(i);
      updated[at] = true;
      gradient[at] = queue_.front().own[at];
      if (is_there(1)) {
        gradient[at] += queue_[static_cast<size_t>(age_of(1))]
                            .input_words[static_cast<size_t>(i - words.begin)];
      }
      if (delayed && config_.ouroboros.tied == TiedGradient::kAverage) gradient[at] /= 2;
    }
    apply(gradient, updated);
  }

 private:
  // The gradient of one step, with that step's weights.
  struct Gradient {
    std::vector<double> own, input_words;  // [arena] with the head's part of the words; [V, H]
  };

  Gradient whole_gradient() {
    std::vector<uint32_t> samples;
    int64_t masked = 0;
    for (const uint32_t sorted_index : batch_plan_->next_step()) {
      samples.push_back(source_.index().sample_at(sorted_index));
      masked += source_.index().classes().of(sorted_index).masked;
    }
    data::PackedBatch batch;
    source_.read(samples, batch);
    std::ranges::copy(weights_, model_.master_weights().as<double>());
    model_.train(batch,
                 {.seed = kSeed,
                  .step = static_cast<uint64_t>(step_),
                  .masked_lm_scale = 1.0f / static_cast<float>(masked),
                  .next_sentence_scale = 1.0f / static_cast<float>(samples.size())},
                 {});
    const auto* own = model_.gradients().as<double>();
    auto* words = model_.sparse_word_gradient().as<double>();
    const int64_t size = model_.sparse_word_gradient().size();
    Gradient gradient{{own, own + model_.layout().size}, {words, words + size}};
    std::fill_n(words, size, 0.0);
    return gradient;
  }

  void apply(std::vector<double> gradient, const std::vector<bool>& updated) {
    double squares = 0;
    for (const double value : gradient) squares += value * value;
    norm_ = std::sqrt(squares);
    if (config_.clip.mode != ClipMode::kNone) {
      const auto most = static_cast<float>(config_.clip.max_norm);
      for (double& value : gradient) value *= std::min(1.0, most / norm_);
    }
    const config::OptimizerConfig& options = config_.optimizer;
    const double beta1 = static_cast<float>(options.beta1),
                 beta2 = static_cast<float>(options.beta2),
                 epsilon = static_cast<float>(options.epsilon);
    const double rate = static_cast<float>(
        optim::learning_rate(lr_schedule(config_.lr_schedule, options.lr), step_));
    const double correction1 = 1 - std::pow(beta1, step_), correction2 = 1 - std::pow(beta2, step_);
    for (const bert::ParameterSegment& segment : model_.layout().segments()) {
      const auto begin = static_cast<size_t>(segment.offset),
                 end = static_cast<size_t>(segment.offset + segment.size);
      if (!updated[begin]) continue;
      const double decay = segment.decay ? static_cast<float>(options.weight_decay) : 0.0f;
      std::vector<double> direction(end);
      double weights_squared = 0, direction_squared = 0;
      for (size_t i = begin; i < end; ++i) {
        const double g = gradient[i];
        double &m = first_moment_[i], &v = second_moment_[i];
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        direction[i] =
            m / correction1 / (std::sqrt(v / correction2) + epsilon) + decay * weights_[i];
        weights_squared += weights_[i] * weights_[i];
        direction_squared += direction[i] * direction[i];
      }
      const bool trusts = options.name == OptimizerKind::kLamb && segment.decay &&
                          weights_squared > 0 && direction_squared > 0;
      const double trust = trusts ? std::sqrt(weights_squared / direction_squared) : 1.0;
      for (size_t i = begin; i < end; ++i) weights_[i] -= rate * trust * direction[i];
    }
  }

  config::RunConfig config_;
  const data::InstanceSource& source_;
  std::unique_ptr<device::Backend> backend_;
  bert::Model model_;
  std::unique_ptr<loadbalance::BatchPlan> batch_plan_;
  std::vector<double> weights_, first_moment_, second_moment_;
  std::deque<Gradient> queue_;  // the newest first
  int64_t step_ = 0;
  double norm_ = 0;
};

// One rank of the modules.
struct Trained {
  Trained(const config::RunConfig& config, device::Backend& backend, comm::Communicator& ranks,
          const data::InstanceSource& source, const bert::BertConfig& bert)
      : model(bert, backend, capacity_of(source, config.batch.micro_batch),
              model_options(config, bert, ranks)) {
    model.set_weights(
        weights_of_stage(model, bert::random_weights(bert::ParameterLayout(bert), kSeed)));
    trainer.emplace(config, backend, model, ranks, kSeed);
    trainer->start(source);
  }

  bert::Model model;
  std::optional<Trainer> trainer;
};

class OuroborosTraining : public testing::TestWithParam<Case> {
 protected:
  int modules() const { return world_->size() + 1; }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_rank_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

constexpr auto kSum = TiedGradient::kSum, kAverage = TiedGradient::kAverage;
INSTANTIATE_TEST_SUITE_P(
    Cases, OuroborosTraining,
    testing::Values(Case{kSum, 0}, Case{kSum, 5}, Case{kAverage, 0}, Case{kAverage, 5},
                    Case{kSum, 0, ClipMode::kAfterAllReduce},
                    Case{kAverage, 5, ClipMode::kBeforeAllReduce},
                    Case{kSum, 5, ClipMode::kAfterAllReduce, OptimizerKind::kLamb}),
    [](const testing::TestParamInfo<Case>& test) {
      return fmt::format("{}_{}_{}_{}", config::name_of(test.param.tied), test.param.warmup_steps,
                         config::name_of(test.param.optimizer), config::name_of(test.param.clip));
    });

// Weights lie between 0.01 and 1. Neighbouring delays change them by at least a thousandth.
TEST_P(OuroborosTraining, IsTheDefinitionWithQueuesOfGradients) {
  constexpr double kBound = 1e-12, kDifferent = 1e-4;
  const config::RunConfig config = in_double(run_of(GetParam(), modules()));
  const bert::BertConfig bert = model_of(modules());
  const auto backend = make_backend(config);
  ASSERT_EQ(backend->master_dtype(), device::DType::kF64);
  Trained found(config, *backend, *world_, *source_, bert);
  Oracle expected(config, bert, *source_);
  config::RunConfig undelayed_config = config;
  undelayed_config.ouroboros.warmup_steps = kSteps;
  Oracle undelayed(undelayed_config, bert, *source_);

  const auto largest_difference = [&](const Oracle& oracle) {
    const auto* weights = found.model.master_weights().as<double>();
    double largest = 0;
    for (const std::string& group : found.model.layout().groups) {
      const Range mine = found.model.layout().group(group), whole = oracle.layout().group(group);
      EXPECT_EQ(mine.size(), whole.size());
      for (int64_t i = 0; i < mine.size(); ++i) {
        const double value = oracle.weights()[static_cast<size_t>(whole.begin + i)];
        largest = larger(largest, std::abs(weights[mine.begin + i] - value));
        EXPECT_TRUE(std::isfinite(value));
      }
    }
    return largest;
  };
  for (int step = 1; step <= kSteps; ++step) {
    const StepResult result = found.trainer->step();
    expected.step();
    undelayed.step();
    ASSERT_LE(largest_difference(expected), kBound) << "step " << step;
    ASSERT_EQ(result.gradient_norm.has_value(), GetParam().clip != ClipMode::kNone);
    if (result.gradient_norm) {
      EXPECT_NEAR(*result.gradient_norm, expected.norm(), 1e-10 * expected.norm());
      EXPECT_GT(expected.norm(), kMaxNorm) << "nothing is clipped";
    }
  }
  EXPECT_GT(largest_difference(undelayed), kDifferent) << "no delay is to be seen";
}

// A single rank with the whole model has the same arithmetic in the same order.
TEST_P(OuroborosTraining, WithoutDelayHasTheBitsOfOneRank) {
  if (GetParam().clip != ClipMode::kNone) return;  // norms are summed in another order
  config::RunConfig config = run_of(GetParam(), modules());
  config.ouroboros.warmup_steps = kSteps;
  config::RunConfig whole = config;
  whole.ouroboros = {};
  const bert::BertConfig bert = model_of(modules());
  for (const auto precision : {config::Precision::kFp32, config::Precision::kBf16}) {
    config.model.precision = whole.model.precision = precision;
    const auto backend = make_backend(config);
    const TrainingHistory found =
        train(config, *backend, *world_, *source_, kSeed, kSteps, nullptr, bert);
    const TrainingHistory expected =
        train(whole, *backend, *single_rank_, *source_, kSeed, kSteps, nullptr, bert);
    EXPECT_EQ(found.weights, expected.weights);
    EXPECT_EQ(largest_loss_difference(found, expected), 0);
    EXPECT_EQ(found.evaluation.masked_lm.correct, expected.evaluation.masked_lm.correct);
    EXPECT_EQ(found.evaluation.masked_lm.loss, expected.evaluation.masked_lm.loss);
  }
}

// An evaluation overwrites nothing in flight and covers the whole model. In float, weights are the
// same with and without evaluations, even if the device lags behind the host.
TEST_P(OuroborosTraining, EvaluationsBetweenStepsChangeNothing) {
  config::RunConfig config = run_of(GetParam(), modules());
  const bert::BertConfig bert = model_of(modules());
  for (const auto precision : {config::Precision::kFp32, config::Precision::kBf16}) {
    config.model.precision = precision;
    const auto cpu = make_backend(config);
    const TrainingHistory expected =
        train(config, *cpu, *world_, *source_, kSeed, kSteps, nullptr, bert);
    testing_support::DeferredBackend late(*cpu, static_cast<uint64_t>(world_->rank()));
    for (device::Backend* backend : {cpu.get(), static_cast<device::Backend*>(&late)}) {
      Trained found(config, *backend, *world_, *source_, bert);
      Evaluator evaluator(found.model, *source_, 0, config.batch.micro_batch, *world_);
      const int64_t taken = backend->buffer_bytes();
      for (int step = 1; step <= kSteps; ++step) {
        found.trainer->step();
        if (step % 3 != 0) continue;
        const bert::Losses evaluated = evaluator.evaluate(found.trainer->free_activations());
        bert::Model whole(bert, *cpu, capacity_of(*source_, config.batch.micro_batch));
        whole.set_weights(found.trainer->weights());
        const bert::Losses of_whole =
            Evaluator(whole, *source_, 0, config.batch.micro_batch, *single_rank_).evaluate();
        EXPECT_EQ(evaluated.masked_lm.correct, of_whole.masked_lm.correct);
        EXPECT_EQ(evaluated.masked_lm.loss, of_whole.masked_lm.loss);
      }
      EXPECT_EQ(found.trainer->weights(), expected.weights);
      EXPECT_EQ(backend->buffer_bytes(), taken) << "training took device memory";
    }
  }
}

// This includes the memory of delayed gradients and weights.
TEST_P(OuroborosTraining, StepsTakeNoMemory) {
  const config::RunConfig config = run_of(GetParam(), modules());
  const auto cpu = make_backend(config);
  CountingDevice device(*cpu, static_cast<uint64_t>(world_->rank()));
  Trained found(config, device, *world_, *source_, model_of(modules()));
  const int before = device.allocations;
  EXPECT_GT(before, 0);
  for (int step = 1; step <= kSteps; ++step) found.trainer->step();
  EXPECT_EQ(device.allocations, before);
}

// Module k keeps activations of K - k + 1 micro-batches, and K - k copies of its weights except the
// words.
TEST_P(OuroborosTraining, TakesTheMemoryOfTheMicroBatchesInFlight) {
  const config::RunConfig config = run_of(GetParam(), modules());
  const bert::BertConfig bert = model_of(modules());
  const auto backend = make_backend(config);
  const auto capacity = capacity_of(*source_, config.batch.micro_batch);
  const bert::ModelOptions options = model_options(config, bert, *world_);
  const bert::Model model(bert, *backend, capacity, options);
  bert::ModelOptions one = options;
  one.delays.clear();
  one.in_flight = 1;
  const bert::Model undelayed(bert, *backend, capacity, one);

  const int rank = world_->rank(), delay = modules() - 1 - rank;
  EXPECT_EQ(model.in_flight(), delay + 1);
  int64_t own_weights = 0;
  for (const auto& block : model.blocks()) {
    if (!block || options.delays[static_cast<size_t>(block->index())] == 0) continue;
    own_weights += model.untied(*block).size();
  }
  EXPECT_EQ(model.stash_bytes(), 4 * own_weights * delay);
  const auto optimizer = make_optimizer(config, *backend, model, *world_);
  EXPECT_EQ(parameter_memory(model, *optimizer).weights,
            model.parameters().weight_bytes() + 4 * own_weights * delay);
  if (rank > 0) {
    // There is one copy of the data that a step sends.
    const int64_t sent = capacity.tokens * bert.hidden_size * int64_t{sizeof(float)};
    EXPECT_EQ(model.activation_bytes(), (delay + 1) * (undelayed.activation_bytes() - sent) + sent);
    return;
  }
  // Rank 0's last module has activations of one micro-batch, so only the first module's activations
  // grow with the micro-batches.
  bert::ModelOptions more = options;
  ++more.in_flight;
  const bert::Model larger(bert, *backend, capacity, more);
  const int64_t of_first = larger.activation_bytes() - model.activation_bytes();
  const int64_t of_last = undelayed.activation_bytes() - of_first;
  EXPECT_GT(of_last, 0);
  EXPECT_EQ(model.activation_bytes(), of_last + (delay + 1) * of_first);
}

}  // namespace
}  // namespace strata::training
