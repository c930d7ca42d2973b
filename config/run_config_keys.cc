#include "config/run_config_keys.h"

#include <type_traits>
#include <utility>

#include "config/config_kinds.h"

namespace strata::config {
namespace {

constexpr int64_t kMillion = 1'000'000;
constexpr int64_t kTrillion = kMillion * kMillion;

// Returns a key of the section whose struct `get` finds in a RunConfig. The section adds its name
// as a prefix later.
template <typename Get, typename Member, typename Kind>
ConfigKey key(const char* name, Get get, Member member, Kind kind, std::string description) {
  if constexpr (requires { kind.meanings(); }) description += fmt::format(" {}", kind.meanings());
  return {
      name,
      kind.type(),
      std::move(description),
      false,
      std::is_same_v<Kind, BackendOptionValues>,
      [get, member, kind](const ConfigValue& value, RunConfig& config) {
        get(config).*member = kind.parse(value, kind.type());
      },
      [get, member, kind](const RunConfig& config) { return kind.format(get(config).*member); }};
}

ConfigKey required(ConfigKey key) {
  key.required = true;
  return key;
}

ConfigSection section(std::string name, std::string description, std::vector<ConfigKey> keys) {
  for (ConfigKey& key : keys) key.name = name + "." + key.name;
  return {std::move(name), std::move(description), std::move(keys)};
}

ConfigSection run_section() {
  using S = SubmissionConfig;
  const auto get = [](auto& config) -> auto& { return config.run; };
  return section(
      "run", "The submitter, the system and the output of a run.",
      {key("organization", get, &S::organization, FileName{},
           "The submitter; a directory of the result tree."),
       key("system", get, &S::system, Maybe{FileName{}, "auto"},
           "The system's name, a directory of the result tree. `auto`: from processor, nodes and "
           "ranks."),
       key("platform", get, &S::platform, Maybe{Text{}, "auto"},
           "The system's readable name (submission_platform). `auto`: as `system`."),
       key("division", get, &S::division, Choice<Division>{}, "MLPerf division."),
       key("status", get, &S::status, Choice<SubmissionStatus>{}, "Availability of the system."),
       key("output", get, &S::output, Path{},
           "Directory of the result tree "
           "`<organization>/{results/<system>/bert/result_N.txt,systems/<system>.json}`."),
       key("experiments", get, &S::experiments, Integer<int>{1, 1000},
           "Number of runs; MLPerf asks for 10. Experiment N writes `result_N.txt`."),
       key("seed", get, &S::seed, Maybe{Integer<uint64_t>{0, kTrillion}, "auto"},
           "Seed of weights, dropout and data order; experiment N uses seed + N. `auto`: a random "
           "one in every experiment, as MLPerf asks."),
       key("stall_seconds", get, &S::stall_seconds, Number::at_least(0),
           "Seconds that ranks may wait for each other; 0: no limit. If a collective or the start "
           "of MPI takes longer, the job ends with exit code 2. For a collective it names the "
           "operation and the missing ranks, and the log ends with `aborted`. A stall in NCCL is "
           "noticed when the host waits for its GPU."),
       key("notes", get, &S::notes, Text{}, "Free text for the system description.")});
}

ConfigSection model_section() {
  using S = ModelConfig;
  const auto get = [](auto& config) -> auto& { return config.model; };
  const auto probability = Number::below(0, 1);
  return section(
      "model", "The model and its initial weights.",
      {required(key(
           "config", get, &S::config, PresetOrPath{{"bert-large", "minilm", "tiny"}},
           "The model's shape: a preset, or a `config.json` or `bert_config.json`. `bert-large`: "
           "MLPerf's, with the tanh form of GELU (`gelu_new` in files). `minilm`: the "
           "quickstart's, "
           "without dropout. `tiny`: for tests.")),
       key("vocab", get, &S::vocab, Maybe{Path{}, "none"},
           "WordPiece vocabulary, one piece per line. The model's `vocab_size` is the number of "
           "pieces, or that rounded up to a multiple of 8, 16, 32, 64 or 128."),
       key("checkpoint", get, &S::checkpoint, Maybe{Path{}, "none"},
           "Initial weights: a safetensors file, the `model.safetensors.index.json` of several, or "
           "the prefix of a TensorFlow 1 checkpoint (MLPerf's `model.ckpt-28252`). Missing heads "
           "are initialised and listed. Optimizer state, counters and constants are ignored, other "
           "tensors that the model lacks refused. `none`: random weights."),
       key("hidden_dropout", get, &S::hidden_dropout, Maybe{probability, "auto"},
           "Dropout probability of embeddings and layer outputs. `auto`: that of `config`."),
       key("attention_dropout", get, &S::attention_dropout, Maybe{probability, "auto"},
           "Dropout probability of attention weights. `auto`: that of `config`."),
       key("precision", get, &S::precision, Choice<Precision>{},
           "Type of weights and activations in GEMMs."),
       key("norm", get, &S::norm, Choice<NormKind>{},
           "Position of LayerNorm. Checkpoints of another kind are refused.")});
}

ConfigSection layer_drop_section() {
  using S = LayerDropConfig;
  const auto get = [](auto& config) -> auto& { return config.layer_drop; };
  return section(
      "layer_drop",
      "Progressive layer dropping ([formula](methods/layer_dropping.md)). Needs `model.norm: pre`.",
      {key("theta", get, &S::theta, Number::up_to(0, 1),
           "Final value of theta(t). 1: no layer is dropped."),
       key("gamma", get, &S::gamma, Maybe{Number::at_least(0), "auto"},
           "Decay rate of theta(t) per step; 0: theta is 1. `auto`: 100 / "
           "`lr_schedule.training_steps`.")});
}

ConfigSection loss_scale_section() {
  using S = LossScaleConfig;
  const auto get = [](auto& config) -> auto& { return config.loss_scale; };
  return section("loss_scale",
                 "Dynamic loss scaling of `model.precision` fp16 ([method](methods/fp16.md)).",
                 {key("initial", get, &S::initial, Number::within(1, 1 << 24),
                      "Initial scale, a power of two. A skipped step halves it, down to 1."),
                  key("growth_steps", get, &S::growth_steps, Integer<int64_t>{1, kTrillion},
                      "After this many steps in a row that were not skipped, the scale doubles, up "
                      "to 2^24.")});
}

ConfigSection standardization_section() {
  using S = bert::Standardization;
  const auto get = [](auto& config) -> auto& { return config.standardization; };
  return section(
      "standardization",
      "Standardization loss in place of LayerNorm ([formula](methods/standardization.md)). Needs "
      "`model.norm: none`.",
      {key("weight", get, &S::weight, Number::at_least(0),
           "Weight of the standardization loss; 0: off."),
       key("axis", get, &S::axis, Choice<StandardizationAxis>{}, "Axis of mean and variance.")});
}

ConfigSection device_section() {
  using S = DeviceConfig;
  const auto get = [](auto& config) -> auto& { return config.device; };
  return section(
      "device", "The device of a rank.",
      {key("backend", get, &S::backend, Choice<const device::BackendKind*>{}, "Implementation."),
       key("threads", get, &S::threads, Maybe{Integer<int>{1, 4096}, "auto"},
           "Threads of each rank. `auto`: its share of the processors that the node's ranks may "
           "use (affinity, control groups). On several NUMA nodes, a rank that its launcher does "
           "not bind is bound to one of them."),
       key("graphs", get, &S::graphs, Flag{},
           "Capture a micro-batch's work on the device as a CUDA graph, and launch it again for "
           "micro-batches of the same shape. With a single rank the graph includes reduction and "
           "update. Helps with small micro-batches; `batch.round_tokens` makes shapes recur."),
       key("options", get, &S::options, BackendOptionValues{},
           "Options of the backend; `--set device.options.NAME=VALUE` sets one.")});
}

ConfigSection data_section() {
  using S = DataConfig;
  const auto get = [](auto& config) -> auto& { return config.data; };
  return section(
      "data", "Pretraining instances in any [form](data.md#forms-of-files).",
      {required(key("train", get, &S::train, Paths{}, "Training set: files or directories.")),
       required(key("eval", get, &S::eval, Paths{},
                    "Evaluation set: files or directories. `--dry-run` reports overlap with "
                    "`train`.")),
       key("eval_samples", get, &S::eval_samples, Integer<int64_t>{0, kTrillion},
           "Number of samples to use, from the start of the evaluation set; 0: all. MLPerf uses "
           "10000."),
       key("max_length", get, &S::max_length, Maybe{Integer<int>{1, 65535}, "auto"},
           "Maximum tokens of a sample. Memory is allocated for `batch.micro_batch` such samples. "
           "`auto`: the model's number of positions."),
       key("max_predictions_per_seq", get, &S::max_predictions_per_seq, Integer<int>{1, 65535},
           "Maximum masked positions of a sample, logged as max_predictions_per_seq."),
       key("shapes", get, &S::shapes, Maybe{Path{}, "none"},
           "A file that `strata data shapes` made from the training set: the number of samples for "
           "each pair of length and masked positions. With it a GPU prepares the run's shapes "
           "before the clock starts, without reading data."),
       key("variable_length", get, &S::variable_length, Flag{},
           "Read HDF5 files of variable-length rows (`mlperf-varlen`). Only for files of known "
           "origin: the HDF5 library does not check them, so a malicious file may take over the "
           "process.")});
}

ConfigSection batch_section() {
  using S = BatchConfig;
  const auto get = [](auto& config) -> auto& { return config.batch; };
  return section(
      "batch",
      "The global batch is `micro_batch` x `gradient_accumulation_steps` x ranks / "
      "`parallel.stages`.\n"
      "With `ouroboros.modules` all ranks take the same samples.",
      {key("micro_batch", get, &S::micro_batch, Integer<int>{1, kMillion},
           "Samples that a rank computes at once."),
       key("gradient_accumulation_steps", get, &S::gradient_accumulation_steps,
           Integer<int>{1, kMillion},
           "Micro-batches whose gradients a rank adds up before an optimizer step."),
       key("accumulation_order", get, &S::accumulation_order, Choice<AccumulationOrder>{},
           "Order of a step's layers and micro-batches. Gradients have the same bits in both "
           "orders, except with `optimizer.sharded` `gradients` or `all`."),
       key("activations", get, &S::activations, Choice<ActivationPolicy>{},
           "How long a layer's activations are kept."),
       key("round_tokens", get, &S::round_tokens, Integer<int>{1, 512},
           "Pad a micro-batch's tokens to a multiple of this number, and its masked positions to a "
           "multiple of a quarter of it, so that few shapes occur. Padding changes neither losses "
           "nor gradients.")});
}

ConfigSection load_balance_section() {
  using S = LoadBalanceConfig;
  const auto get = [](auto& config) -> auto& { return config.batch.load_balance; };
  return section(
      "batch.load_balance", "Which samples a rank takes ([load_balance.md](load_balance.md)).",
      {key("strategy", get, &S::strategy, Choice<BalanceStrategy>{}, "How samples are drawn."),
       key("strata", get, &S::strata, RisingIntegers{1 << 20},
           "Upper limits of the length strata, in tokens; the last must be at least the longest "
           "sample."),
       key("group_ranks", get, &S::group_ranks, Maybe{Integer<int>{1, kMillion}, "auto"},
           "Number of neighbouring ranks that pool their samples. `auto`: 8 for "
           "`stratified+presort`, all for `planned`."),
       key("cost", get, &S::cost, Cost{},
           "Cost of a sample, which `planned` divides evenly: linear * s + quadratic * s^2 for s "
           "tokens; only the ratio matters. `auto`: BERT-large's arithmetic. A file's values are "
           "written into `result_N.yaml`.")});
}

ConfigSection parallel_section() {
  using S = ParallelConfig;
  const auto get = [](auto& config) -> auto& { return config.parallel; };
  return section(
      "parallel",
      "How ranks share a model ([method](methods/pipelines.md)). Rank r is stage r mod `stages` of "
      "replica r / `stages`.",
      {key("stages", get, &S::stages, Integer<int>{1, 1000},
           "Number of pipeline stages, one rank each, with equally many layers; the first also has "
           "embeddings and heads. 1: each rank has the whole model. The number must divide the "
           "layers and the ranks, and be at most `batch.gradient_accumulation_steps`; all these "
           "micro-batches are in memory at once."),
       key("pipeline", get, &S::pipeline, Choice<PipelineKind>{},
           "Layers of a stage. Gradients are the same in both, except with clip.mode "
           "bucket_before_allreduce, whose buckets lie within a stage.")});
}

ConfigSection ouroboros_section() {
  using S = OuroborosConfig;
  const auto get = [](auto& config) -> auto& { return config.ouroboros; };
  return section(
      "ouroboros", "Model parallelism with delayed gradients ([method](methods/ouroboros.md)).",
      {key("modules", get, &S::modules, Integer<int>{1, 1000},
           "Number of modules K, at most the number of layers; 1: off. Needs K - 1 ranks. The "
           "first rank has the first and the last module, which share the word embeddings. Module "
           "k = 1 ... K is updated with the gradient of K - k steps ago."),
       key("warmup_steps", get, &S::warmup_steps, Integer<int64_t>{0, kTrillion},
           "Number of steps without delay at the start of the run. In the next K - k steps module "
           "k is not updated, except the word embeddings, which get the head's part of their "
           "gradient."),
       key("tied", get, &S::tied, Choice<TiedGradient>{},
           "How the two parts of the word embeddings' gradient are combined: the head's part of "
           "this step, and the input's part of K - 1 steps ago.")});
}

ConfigSection optimizer_section() {
  using S = OptimizerConfig;
  const auto get = [](auto& config) -> auto& { return config.optimizer; };
  return section(
      "optimizer", "How a gradient becomes an update ([optimizers.md](optimizers.md)).",
      {key("name", get, &S::name, Choice<OptimizerKind>{}, "Update rule."),
       key("lr", get, &S::lr, Number::above(0), "Learning rate, varied by `lr_schedule`."),
       key("beta1", get, &S::beta1, Number::below(0, 1),
           "Decay of the first moment; madgrad, sgd: momentum."),
       key("beta2", get, &S::beta2, Number::below(0, 1),
           "Decay of the second moment or of acclip's threshold; not for madgrad, sgd."),
       key("epsilon", get, &S::epsilon, Number::above(0),
           "Added to the root of the second moment; madgrad: to the cube root of the squares; "
           "acclip: to the momentum's magnitude; not for sgd."),
       key("weight_decay", get, &S::weight_decay, Number::at_least(0),
           "Decoupled weight decay; sgd: added to the gradient. Biases and LayerNorm have none."),
       key("alpha", get, &S::alpha, Number::within(1, 2),
           "acclip: the threshold is m^(1/alpha), where m is the decaying mean of the gradient's "
           "magnitude to the power alpha."),
       key("sharded", get, &S::sharded, Choice<Sharding>{},
           "Tensors that are sharded among ranks. Weights may differ from those with `none` in "
           "their last bits: with LAMB, or if every micro-batch's gradients are reduced "
           "separately. Layers smaller than `reduce.bucket_megabytes` are gathered together.")});
}

ConfigSection lr_schedule_section() {
  using S = LrScheduleConfig;
  const auto get = [](auto& config) -> auto& { return config.lr_schedule; };
  return section(
      "lr_schedule",
      "Learning rate of step t: a linear warm-up, then a polynomial decay\n"
      "([formulas](methods/adam.md#learning-rate)). D is the completed share of the decay.",
      {key("name", get, &S::name, Choice<LrScheduleKind>{}, "Definition of t and D."),
       key("warmup_steps", get, &S::warmup_steps, Integer<int64_t>{0, kTrillion},
           "Steps from rate 0 to `optimizer.lr`; 0: no warm-up."),
       key("start_warmup_step", get, &S::start_warmup_step, Integer<int64_t>{-kTrillion, kTrillion},
           "The t at which the warm-up has rate 0; at most the first step's t. The warm-up ends "
           "`warmup_steps` later, but the decay of warmup_then_polynomial_decay has the rate "
           "`optimizer.lr` at t = `warmup_steps`. With -16, up to 16 steps before `warmup_steps` "
           "have rates above `optimizer.lr`; with 1, no rate reaches `optimizer.lr`."),
       key("training_steps", get, &S::training_steps, Integer<int64_t>{1, kTrillion},
           "The t from which the rate is `end_lr`."),
       key("end_lr", get, &S::end_lr, Number::at_least(0), "Learning rate after the decay."),
       key("power", get, &S::power, Number::above(0), "Power of the polynomial; 1: linear.")});
}

ConfigSection clip_section() {
  using S = ClipConfig;
  const auto get = [](auto& config) -> auto& { return config.clip; };
  return section("clip", "Gradient-norm clipping ([overlap.md](overlap.md#clip-modes)).",
                 {key("mode", get, &S::mode, Choice<ClipMode>{}, "How gradients are clipped."),
                  key("max_norm", get, &S::max_norm, Number::above(0),
                      "Maximum norm of the whole gradient.")});
}

ConfigSection reduce_section() {
  using S = ReduceConfig;
  const auto get = [](auto& config) -> auto& { return config.reduce; };
  return section(
      "reduce", "How gradients are summed over the ranks.",
      {key("dtype", get, &S::dtype, Choice<ReduceDType>{}, "Type in which gradients are reduced."),
       key("accumulate", get, &S::accumulate, Choice<ReduceAccumulation>{},
           "Type in which backends in host memory add up the ranks' gradients, in rank order. The "
           "bytes that are sent stay the same."),
       key("chunk", get, &S::chunk, Integer<int>{2, 1 << 20},
           "Ranks in a chunk of `accumulate` bf16_chunked."),
       key("bucket_megabytes", get, &S::bucket_megabytes, Number::up_to(0, 1e6),
           "Size of a bucket in the type `dtype`, in 10^6 bytes. A bucket is reduced while "
           "backward fills the next."),
       key("split_tied_embedding", get, &S::split_tied_embedding, Flag{},
           "Split the tied word embeddings' gradient. The masked-LM head's dense part is reduced "
           "first. The input's part is complete last; only its rows of words that occur in the "
           "step are reduced. Helps if these are few. Needs a backend in host memory, and one to "
           "three more buffers as large as the word embeddings."),
       key("half_layers", get, &S::half_layers, Flag{},
           "Reduce a layer's feed-forward gradients, two thirds of the layer's, during the "
           "backward of its attention. Helps with buckets of half a layer."),
       key("nccl_max_ctas", get, &S::nccl_max_ctas, Maybe{Integer<int>{1, 64}, "auto"},
           "Maximum thread blocks of NCCL for a reduction or gather (its maxCTAs). Each takes a "
           "multiprocessor from backward; too few do not fill the network. `auto`: NCCL "
           "chooses.")});
}

ConfigSection target_section() {
  using S = TargetConfig;
  const auto get = [](auto& config) -> auto& { return config.target; };
  return section(
      "target", "The conditions that end a run.",
      {key("masked_lm_accuracy", get, &S::masked_lm_accuracy, Number::up_to(0, 1),
           "Share of the evaluation set's masked tokens that the model must predict; MLPerf: 0.72. "
           "A run that reaches it ends with `success`."),
       key("eval_interval_samples", get, &S::eval_interval_samples,
           Maybe{Integer<int64_t>{1, kTrillion}, "auto"},
           "Training samples between evaluations. `auto`: MLPerf's "
           "floor(0.05 x (230.23 x global batch + 3000000) / 25000) x 25000."),
       key("start_eval_at_sample", get, &S::start_eval_at_sample, Integer<int64_t>{0, kTrillion},
           "Evaluations before this number of training samples are skipped. Evaluation k follows "
           "the first step that reaches k intervals. Only evaluations at intervals can end a run "
           "with `success`."),
       key("max_steps", get, &S::max_steps, Maybe{Integer<int64_t>{1, kTrillion}, "auto"},
           "A run that has not reached its target after this many steps ends with `aborted`. If "
           "the last step is between two evaluations, one more evaluation is logged with "
           "`off_cadence`; it cannot make the run a success. `auto`: "
           "`lr_schedule.training_steps`.")});
}

ConfigSection initialization_section() {
  using S = InitializationConfig;
  const auto get = [](auto& config) -> auto& { return config.initialization; };
  return section("initialization", "The preparation before the timed region.",
                 {key("warmup_steps", get, &S::warmup_steps, Integer<int>{0, 1000},
                      "Number of steps on synthetic data before the clock starts; then the weights "
                      "are restored. On a GPU their micro-batches have the run's shapes, for "
                      "autotuning and `device.graphs`. 0: no warm-up."),
                  key("clear_whole_cache", get, &S::clear_whole_cache, Flag{},
                      "Empty the whole page cache of every node, which only root may do. `false`: "
                      "only the files that the run reads are dropped. If this fails, `cache_clear` "
                      "is logged as false, and the closed division refuses to run.")});
}

ConfigSection checkpoint_section() {
  using S = CheckpointConfig;
  const auto get = [](auto& config) -> auto& { return config.checkpoint; };
  return section("checkpoint",
                 "Checkpoints for `--resume` ([resume.md](resume.md)): every rank writes its part "
                 "into `result_N.checkpoints/`, so\n"
                 "all ranks must reach `run.output`. The last two checkpoints are kept until the "
                 "run has ended.",
                 {key("every_steps", get, &S::every_steps, Integer<int64_t>{0, kTrillion},
                      "Steps between checkpoints, each after a step whose loss is read "
                      "(`log.loss_interval_steps`). 0: no checkpoints by steps."),
                  key("every_seconds", get, &S::every_seconds, Number::at_least(0),
                      "Seconds between checkpoints. 0: no checkpoints by time.")});
}

ConfigSection log_section() {
  using S = LogConfig;
  const auto get = [](auto& config) -> auto& { return config.log; };
  return section(
      "log", "Files that a run writes besides `result_N.txt` and `result_N.yaml`.",
      {key("step_trace", get, &S::step_trace, Flag{},
           "Write `result_N.steps.jsonl`: one JSON line per step."),
       key("tensorboard", get, &S::tensorboard, Flag{},
           "Write `result_N.tensorboard/` during the run: losses, accuracies, learning rate and "
           "times over steps. `tensorboard --logdir` takes `run.output`."),
       key("timeline_steps", get, &S::timeline_steps, Integer<int>{0, 10000},
           "Write `result_N.timeline.json`, a timeline of every rank for this many first steps, "
           "for ui.perfetto.dev or chrome://tracing. 0: none."),
       key("loss_interval_steps", get, &S::loss_interval_steps, Integer<int>{1, 100000},
           "Read the mean training loss once in this many steps. To read it, the host waits for "
           "the GPU."),
       key("save_checkpoint", get, &S::save_checkpoint, Flag{},
           "Write the trained weights as `result_N.safetensors` after the timed region.")});
}

}  // namespace

const std::vector<ConfigSection>& config_sections() {
  static const std::vector<ConfigSection> kSections = {run_section(),
                                                       model_section(),
                                                       layer_drop_section(),
                                                       standardization_section(),
                                                       loss_scale_section(),
                                                       device_section(),
                                                       data_section(),
                                                       batch_section(),
                                                       load_balance_section(),
                                                       parallel_section(),
                                                       ouroboros_section(),
                                                       optimizer_section(),
                                                       lr_schedule_section(),
                                                       clip_section(),
                                                       reduce_section(),
                                                       target_section(),
                                                       initialization_section(),
                                                       checkpoint_section(),
                                                       log_section()};
  return kSections;
}

}  // namespace strata::config
