#include "bench/operations/operations_benchmark.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/timing.h"
#include "bench/devices/device_peaks.h"
#include "bench/devices/operands.h"
#include "bench/step/synthetic_training.h"
#include "bert/batches/device_batch.h"
#include "bert/parameters/parameters.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"
#include "training/factories/model.h"

namespace strata::bench {
namespace {

using device::ConstTensor;
using device::DType;
using device::Stream;
using device::Tensor;

constexpr Stream kCompute = Stream::kCompute;

class Bench {
 public:
  Bench(const bert::BertConfig& model, device::Backend& backend, const data::PackedBatch& batch,
        const std::vector<int32_t>& lengths, const bert::ModelOptions& model_options,
        const OperationsBenchmarkOptions& options,
        const std::function<void(const std::string&)>& describe)
      : model_(model),
        backend_(backend),
        layout_(model),
        arena_(backend),
        batch_(backend, bert::capacity_of(batch), model_options.rounding),
        float8_(model_options.float8),
        rounds_(options.rounds),
        only_(options.only),
        describe_(describe) {
    batch_.upload(kCompute, batch);
    for (const int32_t length : lengths) squared_lengths_ += double{1} * length * length;
  }

  // Sets operations and peaks of `result`.
  void run(OperationsBenchmark& result) {
    std::vector<Group> groups = groups_to_measure();
    if (groups.empty()) fail("--only {}: no operation's name begins with this text", only_);
    matrix_peak_size_ = MatrixPeak(backend_).size();
    copied_elements_ = CopyPeak::elements_for(backend_);
    groups.push_back(counted([this] { peaks(); }));
    size_t most = 0;
    for (const Group& group : groups) most = std::max(most, group.bytes);
    arena_.allocate(most);
    for (int round = 1; round <= rounds_; ++round) {
      if (round > 1) describe_(fmt::format("round {} of {}", round, rounds_));
      next_ = 0;
      for (size_t i = 0; i < groups.size(); ++i) {
        if (round > 1) arena_.set_overwritten(most_of_others(groups, i));
        groups[i].run();
      }
    }
    for (Measured& each : measured_) {
      each.time.rounds = quartiles_of(std::move(each.seconds));
      each.time.seconds = each.time.rounds.median;
      result.operations.push_back(std::move(each.time));
    }
    result.matrix_peak_size = matrix_peak_size_;
    result.matrix_peak_rounds = quartiles_of(std::move(matrix_peaks_));
    result.copy_peak_rounds = quartiles_of(std::move(copy_peaks_));
    result.matrix_peak_flops_per_second = result.matrix_peak_rounds.median;
    result.copy_peak_bytes_per_second = result.copy_peak_rounds.median;
  }

 private:
  // Operations that share operands.
  struct Group {
    std::function<void()> run;
    size_t bytes;
  };
  struct Measured {
    OperationTime time;
    int repeats = 0;  // in a round
    std::vector<double> seconds;
  };

  // Counts the bytes that a group's operations need before the arena is allocated.
  Group counted(std::function<void()> run) {
    counted_bytes_ = 0;
    run();
    return {std::move(run), counted_bytes_};
  }

  static size_t most_of_others(const std::vector<Group>& groups, size_t group) {
    size_t most = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (i != group) most = std::max(most, groups[i].bytes);
    }
    return most;
  }

  std::vector<Group> groups_to_measure() {
    std::vector<Group> groups;
    const auto add = [&](std::function<void()> run) {
      const size_t before = measured_.size();
      Group group = counted(std::move(run));
      if (measured_.size() > before) groups.push_back(std::move(group));
    };
    using enum device::Activation;
    const int64_t h = model_.hidden_size, i = model_.intermediate_size, layers = model_.layers;
    add([=, this] { linear("query, key, value", h, 3 * h, layers, kNone); });
    add([=, this] { linear("attention output", h, h, layers, kNone); });
    add([=, this] { linear("intermediate", h, i, layers, model_.activation); });
    add([=, this] { linear("output", i, h, layers, kNone); });
    // Measures the other GELU form for comparison: libraries fuse only one of them into their
    // GEMMs.
    const bool exact = model_.activation != kGelu;
    add([=, this] {
      activated_linear(exact ? "intermediate, exact GELU" : "intermediate, GELU by tanh",
                       exact ? "output, through exact GELU" : "output, through GELU by tanh", h, i,
                       0, exact ? kGelu : kGeluTanh);
    });
    add([this] { attention(); });
    add([this] { layernorm(); });
    add([this] { embeddings(); });
    add([this] { rows(); });
    add([this] { losses(); });
    add([this] { flat(); });
    return groups;
  }

  template <typename Operation>
  void time(const std::string& operation, const std::string& where, int64_t per_step, double flops,
            double bytes, const Operation& run) {
    if (!operation.starts_with(only_)) return;
    if (arena_.counts()) {
      counted_bytes_ = std::max(counted_bytes_, arena_.used());
      measured_.emplace_back();
      return;
    }
    const auto seconds_of = [&](int repeats) {
      const auto begin = Clock::now();
      for (int i = 0; i < repeats; ++i) run();
      backend_.synchronize(kCompute);
      return seconds_since(begin);
    };
    Measured& measured = measured_[next_++];
    if (measured.repeats == 0) {
      describe_(operation + " " + where);
      measured.time = {operation, where, per_step, 0, flops, bytes, {}};
      seconds_of(2);
      // Repeats often enough that issuing the first and waiting for the last do not matter.
      constexpr double kRound = 5e-3;
      constexpr int kMostRepeats = 200;
      measured.repeats =
          static_cast<int>(std::clamp(kRound / seconds_of(1), 1.0, double{kMostRepeats}));
    } else if (measured.repeats > 1) {
      seconds_of(1);  // short operations find their operands in caches
    }
    measured.seconds.push_back(seconds_of(measured.repeats) / measured.repeats);
  }

  void peaks() {
    Operands operands(backend_, false, arena_);
    const int64_t size = matrix_peak_size_;
    const Tensor dy = operands.compute(size, size), weight = operands.compute(size, size),
                 dx = operands.compute(size, size), from = operands.unfilled(copied_elements_),
                 to = operands.unfilled(copied_elements_);
    if (arena_.counts()) {
      counted_bytes_ = arena_.used();
      return;
    }
    if (matrix_peaks_.empty()) describe_("peaks");
    const auto matrix_peak = [&] { return MatrixPeak::flops_per_second(backend_, dy, weight, dx); };
    matrix_peak();
    matrix_peaks_.push_back(matrix_peak());
    copy_peaks_.push_back(CopyPeak::bytes_per_second(backend_, from, to));
  }

  // Measures forward, and the next layer's data gradient with the activation's backward.
  void activated_linear(const std::string& where, const std::string& where_backward, int64_t in,
                        int64_t out, int64_t per_step, device::Activation activation) {
    Operands operands(backend_, float8_, arena_);
    const int64_t t = batch_.sequences.tokens;
    const ConstTensor x = operands.operand(DType::kE4M3, t, in),
                      weight = operands.operand(DType::kE4M3, out, in),
                      next = operands.operand(DType::kE5M2, t, in),
                      next_weight = operands.operand(DType::kE4M3, in, out);
    const Tensor bias = operands.compute(1, out), pre = operands.compute(t, out);
    const Copied y = operands.only_for_gemms(DType::kE4M3, t, out),
                 d_pre = operands.only_for_gemms(DType::kE5M2, t, out);
    const double flops = 2.0 * static_cast<double>(t) * static_cast<double>(in * out);
    time("linear_forward", where, per_step, flops,
         bytes_of({x, weight, bias, y.tensor, y.copy.data, pre}), [&] {
           backend_.linear_forward(kCompute, {.x = x,
                                              .weight = weight,
                                              .bias = bias,
                                              .activation = activation,
                                              .pre_activation = pre,
                                              .y = y.tensor,
                                              .y_float8 = y.copy});
         });
    time("linear_data_gradient", where_backward, per_step, flops,
         bytes_of({next, next_weight, pre, d_pre.tensor, d_pre.copy.data}), [&] {
           backend_.linear_data_gradient(kCompute, {.dy = next,
                                                    .weight = next_weight,
                                                    .activation = activation,
                                                    .pre_activation = pre,
                                                    .dx = d_pre.tensor,
                                                    .dx_float8 = d_pre.copy});
         });
  }

  void linear(const std::string& where, int64_t in, int64_t out, int64_t per_step,
              device::Activation activation) {
    Operands operands(backend_, float8_, arena_);
    const int64_t t = batch_.sequences.tokens;
    const ConstTensor x = operands.operand(DType::kE4M3, t, in),
                      weight = operands.operand(DType::kE4M3, out, in),
                      dy = operands.operand(DType::kE5M2, t, out);
    const Tensor y = operands.compute(t, out), dx = operands.compute(t, in),
                 bias = operands.compute(1, out), d_weight = operands.master(out, in),
                 d_bias = operands.master(1, out);
    const double flops = 2.0 * static_cast<double>(t) * static_cast<double>(in * out);
    if (activation == device::Activation::kNone) {
      time("linear_forward", where, per_step, flops, bytes_of({x, weight, bias, y}), [&] {
        backend_.linear_forward(kCompute, {.x = x, .weight = weight, .bias = bias, .y = y});
      });
    } else {
      activated_linear(where, "output, through the activation", in, out, per_step, activation);
    }
    const bool adds = where != "attention output" && where != "output";
    if (where != "output") {
      time("linear_data_gradient", where, per_step, flops,
           bytes_of({dy, weight, dx}) + (adds ? bytes_of({dx}) : 0), [&] {
             backend_.linear_data_gradient(
                 kCompute, {.dy = dy, .weight = weight, .accumulate = adds, .dx = dx});
           });
    }
    // A step's first micro-batch overwrites the gradient; later ones read it, too.
    time("linear_weight_gradient", where, per_step, flops, bytes_of({x, dy, d_weight, d_bias}),
         [&] {
           backend_.linear_weight_gradient(
               kCompute, {.x = x, .dy = dy, .d_weight = d_weight, .d_bias = d_bias});
         });
    if (!float8_) return;
    const Copied rounded = operands.copied(DType::kE4M3, out, in);
    time("round_to_float8", where + ", weight", per_step, 0,
         bytes_of({rounded.tensor, rounded.copy.data}), [&] {
           backend_.round_to_float8(kCompute, {rounded.tensor, rounded.copy});
         });
  }

  void attention() {
    Operands operands(backend_, float8_, arena_);
    const int64_t t = batch_.sequences.tokens, h = model_.hidden_size;
    const Copied context = operands.copied(DType::kE4M3, t, h),
                 d_qkv = operands.only_for_gemms(DType::kE5M2, t, 3 * h);
    const Tensor qkv = operands.compute(t, 3 * h), d_context = operands.compute(t, h),
                 log_sum_exp = operands.master(t, model_.heads);
    const auto heads = static_cast<int32_t>(model_.heads);
    const device::Dropout dropout{model_.attention_dropout, 7};
    const double products = 2.0 * static_cast<double>(h) * squared_lengths_;
    time("attention_forward", "", model_.layers, 2 * products,
         bytes_of({qkv, context.tensor, context.copy.data, log_sum_exp}), [&] {
           backend_.attention_forward(kCompute, {.qkv = qkv,
                                                 .sequences = batch_.sequences,
                                                 .heads = heads,
                                                 .dropout = dropout,
                                                 .context = context.tensor,
                                                 .context_float8 = context.copy,
                                                 .log_sum_exp = log_sum_exp});
         });
    // The second computation of scores does not count.
    time("attention_backward", "", model_.layers, 4 * products,
         bytes_of({qkv, context.tensor, d_context, log_sum_exp, d_qkv.tensor, d_qkv.copy.data}),
         [&] {
           backend_.attention_backward(kCompute, {.qkv = qkv,
                                                  .context = context.tensor,
                                                  .d_context = d_context,
                                                  .log_sum_exp = log_sum_exp,
                                                  .sequences = batch_.sequences,
                                                  .heads = heads,
                                                  .dropout = dropout,
                                                  .d_qkv = d_qkv.tensor,
                                                  .d_qkv_float8 = d_qkv.copy});
         });
  }

  void layernorm() {
    Operands operands(backend_, float8_, arena_);
    const int64_t t = batch_.sequences.tokens, h = model_.hidden_size;
    const Copied y = operands.copied(DType::kE4M3, t, h),
                 d_x = operands.only_for_gemms(DType::kE5M2, t, h);
    const Tensor x = operands.compute(t, h), residual = operands.compute(t, h),
                 normalized = operands.compute(t, h), dy = operands.compute(t, h),
                 gamma = operands.compute(1, h), beta = operands.compute(1, h),
                 inverse_stddev = operands.positive(t), d_gamma = operands.master(1, h),
                 d_beta = operands.master(1, h);
    const device::Dropout dropout{model_.hidden_dropout, 7};
    time("residual_layernorm_forward", "", 2 * model_.layers, 0,
         bytes_of({x, residual, normalized, inverse_stddev, y.tensor, y.copy.data}), [&] {
           backend_.residual_layernorm_forward(kCompute, {.x = x,
                                                          .residual = residual,
                                                          .gamma = gamma,
                                                          .beta = beta,
                                                          .epsilon = model_.layer_norm_epsilon,
                                                          .dropout = dropout,
                                                          .sequences = batch_.sequences,
                                                          .normalized = normalized,
                                                          .inverse_stddev = inverse_stddev,
                                                          .y = y.tensor,
                                                          .y_float8 = y.copy});
         });
    time("residual_layernorm_backward", "", 2 * model_.layers, 0,
         bytes_of({dy, normalized, inverse_stddev, d_x.tensor, d_x.copy.data, residual}), [&] {
           backend_.residual_layernorm_backward(kCompute, {.dy = dy,
                                                           .normalized = normalized,
                                                           .inverse_stddev = inverse_stddev,
                                                           .gamma = gamma,
                                                           .dropout = dropout,
                                                           .sequences = batch_.sequences,
                                                           .d_x = d_x.tensor,
                                                           .d_x_float8 = d_x.copy,
                                                           .d_residual = residual,
                                                           .d_gamma = d_gamma,
                                                           .d_beta = d_beta});
         });
  }

  void embeddings() {
    Operands operands(backend_, float8_, arena_);
    const int64_t t = batch_.sequences.tokens, h = model_.hidden_size;
    const Tensor word = operands.compute(model_.vocab_size, h),
                 position = operands.compute(model_.max_positions, h),
                 segment = operands.compute(2, h), gamma = operands.compute(1, h),
                 beta = operands.compute(1, h), normalized = operands.compute(t, h),
                 dy = operands.compute(t, h), inverse_stddev = operands.positive(t),
                 d_word = operands.master(model_.vocab_size, h),
                 d_position = operands.master(model_.max_positions, h),
                 d_segment = operands.master(2, h), d_gamma = operands.master(1, h),
                 d_beta = operands.master(1, h);
    const device::Dropout dropout{model_.hidden_dropout, 7};
    const Copied y = operands.copied(DType::kE4M3, t, h);
    // The bytes count every token's word. Positions and segments stay in caches.
    time("embeddings_forward", "", 1, 0,
         bytes_of({y.tensor, normalized, y.tensor, y.copy.data, inverse_stddev}), [&] {
           backend_.embeddings_forward(kCompute, {.token_ids = batch_.tokens,
                                                  .segment_ids = batch_.segments,
                                                  .positions = batch_.positions,
                                                  .sequences = batch_.sequences,
                                                  .word = word,
                                                  .position = position,
                                                  .segment = segment,
                                                  .gamma = gamma,
                                                  .beta = beta,
                                                  .epsilon = model_.layer_norm_epsilon,
                                                  .dropout = dropout,
                                                  .normalized = normalized,
                                                  .inverse_stddev = inverse_stddev,
                                                  .y = y.tensor,
                                                  .y_float8 = y.copy});
         });
    // Each word's gradient is read and written at most once per token.
    const double rows = static_cast<double>(std::min<int64_t>(t, model_.vocab_size));
    const double scattered =
        2 * rows * static_cast<double>(h) * static_cast<double>(size_of(d_word.dtype));
    time("embeddings_backward", "", 1, 0, bytes_of({dy, normalized, inverse_stddev}) + scattered,
         [&] {
           backend_.embeddings_backward(kCompute, {.token_ids = batch_.tokens,
                                                   .segment_ids = batch_.segments,
                                                   .positions = batch_.positions,
                                                   .sequences = batch_.sequences,
                                                   .dy = dy,
                                                   .normalized = normalized,
                                                   .inverse_stddev = inverse_stddev,
                                                   .gamma = gamma,
                                                   .dropout = dropout,
                                                   .d_word = d_word,
                                                   .d_position = d_position,
                                                   .d_segment = d_segment,
                                                   .d_gamma = d_gamma,
                                                   .d_beta = d_beta});
         });
  }

  void rows() {
    Operands operands(backend_, float8_, arena_);
    const int64_t t = batch_.sequences.tokens, m = batch_.masked, h = model_.hidden_size;
    const Tensor all = operands.compute(t, h), some = operands.compute(m, h);
    time("gather_rows", "masked positions", 1, 0, bytes_of({some, some}), [&] {
      backend_.gather_rows(kCompute, {.x = all, .rows = batch_.masked_positions, .y = some});
    });
    time("scatter_add_rows", "masked positions", 1, 0, bytes_of({some, some, some}), [&] {
      backend_.scatter_add_rows(kCompute, {.dy = some, .rows = batch_.masked_positions, .dx = all});
    });
    time("activation_backward", "masked-LM transform", 1, 0, bytes_of({some, some, some}), [&] {
      backend_.activation_backward(
          kCompute,
          {.activation = model_.activation, .dy = some, .pre_activation = some, .dx = some});
    });
  }

  void losses() {
    Operands operands(backend_, float8_, arena_);
    const int64_t m = batch_.masked, h = model_.hidden_size, v = model_.vocab_size;
    const Tensor x = operands.compute(m, h), weight = operands.compute(v, h),
                 bias = operands.compute(1, v), d_x = operands.compute(m, h),
                 d_weight = operands.master(v, h), d_bias = operands.master(1, v);
    auto* totals = operands.zeros<device::LossTotals>();
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(h * v);
    const auto run = [&](bool training) {
      backend_.classifier_loss(kCompute, {.x = x,
                                          .weight = weight,
                                          .bias = bias,
                                          .labels = batch_.masked_ids,
                                          .gradient_scale = 1.0f / static_cast<float>(m),
                                          .d_x = training ? d_x : Tensor{},
                                          .d_weight = training ? d_weight : Tensor{},
                                          .d_bias = training ? d_bias : Tensor{},
                                          .totals = totals});
    };
    time("classifier_loss", "masked-LM, training", 1, 3 * flops,
         bytes_of({x, weight, d_x, d_weight}), [&] { run(true); });
    time("classifier_loss", "masked-LM, evaluation", 0, flops, bytes_of({x, weight}),
         [&] { run(false); });
  }

  void flat() {
    Operands operands(backend_, float8_, arena_);
    const int64_t n = layout_.size;
    const Tensor weights = operands.master(1, n), gradients = operands.master(1, n),
                 first = operands.master(1, n), second = operands.master(1, n),
                 compute = operands.compute(1, n);
    auto* norm = operands.zeros<double>();
    time("convert", std::string("gradients to ") + name_of(compute.dtype), 0, 0,
         bytes_of({gradients, compute}),
         [&] { backend_.convert(kCompute, {.source = gradients, .destination = compute}); });
    time("l2_norm_squared", "gradients", 0, 0, bytes_of({gradients}),
         [&] { backend_.l2_norm_squared(kCompute, {.x = gradients, .norm_squared = norm}); });
    time("clip_to_norm", "gradients", 0, 0, bytes_of({gradients, gradients}), [&] {
      backend_.clip_to_norm(kCompute, {.x = gradients, .norm_squared = norm, .max_norm = 1.0f});
    });
    const bool separate = compute.dtype != weights.dtype;
    const double update = 2 * bytes_of({weights, first, second}) + bytes_of({gradients}) +
                          (separate ? bytes_of({compute}) : 0);
    time("adam_update", "", 1, 0, update, [&] {
      backend_.adam_update(kCompute, {.weights = weights,
                                      .compute_weights = separate ? compute : Tensor{},
                                      .gradients = gradients,
                                      .first_moment = first,
                                      .second_moment = second,
                                      .learning_rate = 1e-6f,
                                      .clip = {.norm_squared = norm}});
    });
  }

  const bert::BertConfig& model_;
  device::Backend& backend_;
  bert::ParameterLayout layout_;
  OperandArena arena_;
  bert::DeviceBatch batch_;
  bool float8_;
  int rounds_;
  std::string only_;
  const std::function<void(const std::string&)>& describe_;
  double squared_lengths_ = 0;  // their sum
  int64_t matrix_peak_size_ = 0, copied_elements_ = 0;
  size_t counted_bytes_ = 0;
  size_t next_ = 0;  // index of the next operation in `measured_`
  std::vector<Measured> measured_;
  std::vector<double> matrix_peaks_, copy_peaks_;
};

}  // namespace

OperationsBenchmark benchmark_operations(const config::RunConfig& config,
                                         const OperationsBenchmarkOptions& options,
                                         const training::Ranks& ranks,
                                         const std::function<void(const std::string&)>& describe) {
  const int size = ranks.size();
  if (size > 1)
    fail("{} ranks: operations are measured on a single rank; run without a launcher", size);
  const bert::BertConfig model = training::make_bert_config(config);
  training::check_one_stage(config);
  const auto backend = training::make_backend(config, ranks.local);
  const auto lengths =
      micro_batch_lengths(config, {options.micro_batch_tokens, options.length}, model, 1);
  const data::PackedBatch batch = training::synthetic_batch(model, lengths, 1);
  OperationsBenchmark result{
      .device = backend->description(), .lengths = lengths, .tokens = std::ssize(batch.tokens)};
  Bench(model, *backend, batch, lengths, training::model_options(config, model), options, describe)
      .run(result);
  return result;
}

}  // namespace strata::bench
