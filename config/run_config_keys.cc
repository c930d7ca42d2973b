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
      "run", "Who runs what, and where the results go.",
      {key("organization", get, &S::organization, FileName{},
           "The submitter; a directory of the result tree."),
       key("system", get, &S::system, Maybe{FileName{}, "auto"},
           "The system's name, a directory of the result tree. `auto`: from processor, nodes and "
           "ranks."),
       key("platform", get, &S::platform, Maybe{Text{}, "auto"},
           "The system's name for people (submission_platform). `auto`: as `system`."),
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
           "Seconds that ranks may wait for each other, also while MPI starts; 0: for ever. Then "
           "[the job ends](resume.md#what-may-interrupt-a-run). A stalled NCCL operation is "
           "noticed when the host waits for its GPU."),
       key("notes", get, &S::notes, Text{}, "Free text for the system description.")});
}

ConfigSection model_section() {
  using S = ModelConfig;
  const auto get = [](auto& config) -> auto& { return config.model; };
  const auto probability = Number::below(0, 1);
  return section(
      "model", "Which model, and the weights it starts from.",
      {required(key(
           "config", get, &S::config, PresetOrPath{{"bert-large", "minilm", "tiny"}},
           "The model's shape: a preset, or a `config.json` or `bert_config.json`. `bert-large`: "
           "MLPerf's, with the tanh form of GELU (`gelu_new` in files). `minilm`: the "
           "quickstart's, "
           "without dropout. `tiny`: for tests.")),
       key("vocab", get, &S::vocab, Maybe{Path{}, "none"},
           "WordPiece vocabulary, one piece a line. The model's `vocab_size` is the number of "
           "lines, or that number padded to a multiple of 8."),
       key("checkpoint", get, &S::checkpoint, Maybe{Path{}, "none"},
           "Initial weights: a safetensors file, the `model.safetensors.index.json` of several, or "
           "the prefix of a TensorFlow 1 checkpoint (MLPerf's `model.ckpt-28252`). Missing heads "
           "are initialised and listed; tensors that the model lacks are refused. `none`: random "
           "weights."),
       key("hidden_dropout", get, &S::hidden_dropout, Maybe{probability, "auto"},
           "Dropout probability of embeddings and layer outputs. `auto`: that of `config`."),
       key("attention_dropout", get, &S::attention_dropout, Maybe{probability, "auto"},
           "Dropout probability of attention weights. `auto`: that of `config`."),
       key("precision", get, &S::precision, Choice<Precision>{},
           "Type of weights and activations in GEMMs."),
       key("norm", get, &S::norm, Choice<NormKind>{},
           "Where LayerNorm stands. Checkpoints of another kind are refused.")});
}

ConfigSection layer_drop_section() {
  using S = LayerDropConfig;
  const auto get = [](auto& config) -> auto& { return config.layer_drop; };
  return section(
      "layer_drop",
      "Progressive layer dropping ([formula](methods/layer_dropping.md)). Needs `model.norm` pre.",
      {key("theta", get, &S::theta, Number::up_to(0, 1),
           "What theta(t) falls to. 1: no layer is dropped."),
       key("gamma", get, &S::gamma, Maybe{Number::at_least(0), "auto"},
           "Rate at which theta(t) decays, per step; 0: not at all. `auto`: 100 / "
           "`schedule.training_steps`.")});
}

ConfigSection loss_scale_section() {
  using S = LossScaleConfig;
  const auto get = [](auto& config) -> auto& { return config.loss_scale; };
  return section(
      "loss_scale", "Dynamic loss scaling of `model.precision` fp16 ([method](methods/fp16.md)).",
      {key("initial", get, &S::initial, Number::within(1, 1 << 24),
           "Scale of the first steps, a power of two. A skipped step halves it, to 1 at least."),
       key("growth_steps", get, &S::growth_steps, Integer<int64_t>{1, kTrillion},
           "Steps without a skipped one after which the scale doubles, to 2^24 at most.")});
}

ConfigSection standardization_section() {
  using S = bert::Standardization;
  const auto get = [](auto& config) -> auto& { return config.standardization; };
  return section(
      "standardization",
      "Standardization loss in place of LayerNorm ([formula](methods/standardization.md)). Needs "
      "`model.norm` none.",
      {key("weight", get, &S::weight, Number::at_least(0), "Factor of the loss; 0: none."),
       key("axis", get, &S::axis, Choice<StandardizationAxis>{},
           "Which values share a mean and a variance.")});
}

ConfigSection device_section() {
  using S = DeviceConfig;
  const auto get = [](auto& config) -> auto& { return config.device; };
  return section(
      "device", "What a rank computes on.",
      {key("backend", get, &S::backend, Choice<const device::BackendKind*>{}, "Implementation."),
       key("threads", get, &S::threads, Maybe{Integer<int>{1, 4096}, "auto"},
           "Threads of each rank. `auto`: its share of the processors that the node's ranks may "
           "use (affinity, control groups). Ranks that their launcher does not bind are bound to a "
           "NUMA node each."),
       key("graphs", get, &S::graphs, Flag{},
           "Capture a micro-batch's work as a CUDA graph (with a single rank, reduction and update "
           "too) and launch it for later ones of the same shape. Pays with small micro-batches; "
           "`batch.round_tokens` makes shapes recur."),
       key("options", get, &S::options, BackendOptionValues{}, "Choices of one backend.")});
}

ConfigSection data_section() {
  using S = DataConfig;
  const auto get = [](auto& config) -> auto& { return config.data; };
  return section(
      "data", "HDF5 files of pretraining instances, as `strata data` writes them.",
      {required(key("train", get, &S::train, Paths{}, "Training set: files or directories.")),
       required(key("eval", get, &S::eval, Paths{},
                    "Evaluation set: files or directories, none of which is trained on.")),
       key("eval_samples", get, &S::eval_samples, Integer<int64_t>{0, kTrillion},
           "Samples to evaluate, from the beginning; 0: all. MLPerf uses 10000."),
       key("max_length", get, &S::max_length, Maybe{Integer<int>{1, 65535}, "auto"},
           "Most tokens of a sample; memory is taken for `batch.micro_batch` such samples. `auto`: "
           "the model's `max_position_embeddings`."),
       key("max_predictions_per_seq", get, &S::max_predictions_per_seq, Integer<int>{1, 65535},
           "Most masked positions of a sample, logged as max_predictions_per_seq."),
       key("shapes", get, &S::shapes, Maybe{Path{}, "none"},
           "A file that `strata data shapes` made of the training set. From it a GPU prepares the "
           "shapes to come before the clock starts, without reading data."),
       key("variable_length", get, &S::variable_length, Flag{},
           "Read HDF5 files of variable-length rows (`mlperf-varlen`). Only for files of known "
           "origin: [a hostile one](data.md#forms-of-files) may take over the process.")});
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
           "Samples a rank computes at once."),
       key("gradient_accumulation_steps", get, &S::gradient_accumulation_steps,
           Integer<int>{1, kMillion}, "Micro-batches a rank sums before an optimizer step."),
       key("accumulation_order", get, &S::accumulation_order, Choice<AccumulationOrder>{},
           "How a step goes through layers and micro-batches. Gradients have the same bits, except "
           "with `optimizer.sharded` `gradients` or `all`."),
       key("activations", get, &S::activations, Choice<ActivationPolicy>{},
           "How long a layer's activations are kept."),
       key("round_tokens", get, &S::round_tokens, Integer<int>{1, 512},
           "Pad a micro-batch's tokens to a multiple of this number, and its masked positions to a "
           "multiple of its quarter, so that few shapes occur. Losses and gradients do not "
           "change.")});
}

ConfigSection load_balance_section() {
  using S = LoadBalanceConfig;
  const auto get = [](auto& config) -> auto& { return config.batch.load_balance; };
  return section(
      "batch.load_balance", "Which samples a rank takes ([load_balance.md](load_balance.md)).",
      {key("strategy", get, &S::strategy, Choice<BalanceStrategy>{}, "How samples are drawn."),
       key("strata", get, &S::strata, RisingIntegers{1 << 20},
           "Upper ends of the strata in tokens; the last must hold the longest sample."),
       key("group_ranks", get, &S::group_ranks, Maybe{Integer<int>{1, kMillion}, "auto"},
           "Neighbouring ranks that share their samples. `auto`: 8 for `stratified+presort`, all "
           "for `planned`."),
       key("cost", get, &S::cost, Cost{},
           "What `planned` divides evenly: linear * s + quadratic * s^2 for a sample of s tokens; "
           "only the ratio matters. `auto`: BERT-large's arithmetic.")});
}

ConfigSection parallel_section() {
  using S = ParallelConfig;
  const auto get = [](auto& config) -> auto& { return config.parallel; };
  return section(
      "parallel",
      "How ranks share a model ([method](methods/pipelines.md)). Rank r is stage r mod `stages` of "
      "replica r / `stages`.",
      {key("stages", get, &S::stages, Integer<int>{1, 1000},
           "Ranks that hold a model together; 1: each rank has it whole. Divides the layers and "
           "the "
           "ranks; at most `batch.gradient_accumulation_steps`, whose micro-batches are all in "
           "memory."),
       key("pipeline", get, &S::pipeline, Choice<PipelineKind>{},
           "Which layers a stage has. Gradients are the same, but `bucket_before_allreduce` clips "
           "buckets of one stage.")});
}

ConfigSection ouroboros_section() {
  using S = OuroborosConfig;
  const auto get = [](auto& config) -> auto& { return config.ouroboros; };
  return section(
      "ouroboros", "Model parallelism with delayed gradients ([method](methods/ouroboros.md)).",
      {key("modules", get, &S::modules, Integer<int>{1, 1000},
           "Number K of modules, at most the layers; 1: none. Needs K - 1 ranks."),
       key("warmup_steps", get, &S::warmup_steps, Integer<int64_t>{0, kTrillion},
           "First steps without delay. The K - k steps after them do not change module k."),
       key("tied", get, &S::tied, Choice<TiedGradient>{},
           "How the two parts of the word embeddings' gradient are combined: the head's, of this "
           "step, and the input's, of K - 1 steps before.")});
}

ConfigSection optimizer_section() {
  using S = OptimizerConfig;
  const auto get = [](auto& config) -> auto& { return config.optimizer; };
  return section(
      "optimizer", "How a gradient becomes an update ([optimizers.md](optimizers.md)).",
      {key("name", get, &S::name, Choice<OptimizerKind>{}, "Update rule."),
       key("lr", get, &S::lr, Number::above(0), "Learning rate, varied by `schedule`."),
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
           "acclip: [power](methods/acclip.md) of the gradient's magnitude whose mean gives the "
           "threshold."),
       key("sharded", get, &S::sharded, Choice<Sharding>{},
           "What is sharded among ranks ([method](methods/sharding.md)).")});
}

ConfigSection schedule_section() {
  using S = ScheduleConfig;
  const auto get = [](auto& config) -> auto& { return config.schedule; };
  return section(
      "schedule",
      "Learning rate of step t: a linear warm-up, then a polynomial decay "
      "([formulas](methods/adam.md#learning-rate)).",
      {key("name", get, &S::name, Choice<ScheduleKind>{}, "Which formula."),
       key("warmup_steps", get, &S::warmup_steps, Integer<int64_t>{0, kTrillion},
           "Steps from rate 0 to `optimizer.lr`; 0: no warm-up."),
       key("start_warmup_step", get, &S::start_warmup_step, Integer<int64_t>{-kTrillion, kTrillion},
           "The t at which the warm-up has rate 0; at most the first step's. Negative: the warm-up "
           "ends before t = `warmup_steps`, and until then warmup_then_polynomial_decay has rates "
           "above `optimizer.lr`. 1: the decay has begun when the warm-up ends, so `optimizer.lr` "
           "is not reached."),
       key("training_steps", get, &S::training_steps, Integer<int64_t>{1, kTrillion},
           "The t from which the rate is `end_lr`."),
       key("end_lr", get, &S::end_lr, Number::at_least(0), "Learning rate after the decay."),
       key("power", get, &S::power, Number::above(0), "Power of the polynomial; 1: linear.")});
}

ConfigSection clip_section() {
  using S = ClipConfig;
  const auto get = [](auto& config) -> auto& { return config.clip; };
  return section(
      "clip", "Gradient-norm clipping ([overlap.md](overlap.md#clip-modes)).",
      {key("mode", get, &S::mode, Choice<ClipMode>{}, "Whose norm is limited, and when."),
       key("max_norm", get, &S::max_norm, Number::above(0),
           "Largest norm of the whole gradient.")});
}

ConfigSection reduce_section() {
  using S = ReduceConfig;
  const auto get = [](auto& config) -> auto& { return config.reduce; };
  return section("reduce", "How gradients are summed over the ranks.",
                 {key("dtype", get, &S::dtype, Choice<ReduceDType>{},
                      "Type of the gradients that ranks send."),
                  key("accumulate", get, &S::accumulate, Choice<ReduceAccumulation>{},
                      "Type in which ranks' gradients are added up ([method](methods/"
                      "accumulation.md)), on backends in host memory."),
                  key("chunk", get, &S::chunk, Integer<int>{2, 1 << 20},
                      "Ranks in a chunk of `accumulate` bf16_chunked."),
                  key("bucket_megabytes", get, &S::bucket_megabytes, Number::up_to(0, 1e6),
                      "Size of a bucket in `dtype`, in 10^6 bytes."),
                  key("early_words", get, &S::early_words, Flag{},
                      "Reduce the masked-LM head's part of the word embeddings' gradient first, "
                      "and the rows of the step's words last ([method](methods/early_gradients.md"
                      ")): pays if few words occur. On backends in host memory. Takes one or two "
                      "more buffers as large as the word embeddings."),
                  key("half_layers", get, &S::half_layers, Flag{},
                      "Reduce a layer's feed-forward gradients while its backward goes on with the "
                      "attention: pays with buckets of half a layer."),
                  key("nccl_max_ctas", get, &S::nccl_max_ctas, Maybe{Integer<int>{1, 64}, "auto"},
                      "Most thread blocks of NCCL for a reduction or gather. Each takes a "
                      "multiprocessor from backward; too few do not fill the network. `auto`: NCCL "
                      "chooses.")});
}

ConfigSection target_section() {
  using S = TargetConfig;
  const auto get = [](auto& config) -> auto& { return config.target; };
  return section(
      "target", "When a run ends.",
      {key("masked_lm_accuracy", get, &S::masked_lm_accuracy, Number::up_to(0, 1),
           "Share of masked tokens of the evaluation set to predict; MLPerf: 0.72. A run that "
           "reaches it ends with `success`."),
       key("eval_interval_samples", get, &S::eval_interval_samples,
           Maybe{Integer<int64_t>{1, kTrillion}, "auto"},
           "Training samples between evaluations. `auto`: MLPerf's "
           "floor(0.05 x (230.23 x global batch + 3000000) / 25000) x 25000."),
       key("start_eval_at_sample", get, &S::start_eval_at_sample, Integer<int64_t>{0, kTrillion},
           "Evaluations at fewer training samples are left out. Evaluation k follows the first "
           "step that reaches k intervals."),
       key("max_steps", get, &S::max_steps, Maybe{Integer<int64_t>{1, kTrillion}, "auto"},
           "Steps after which a run that misses its target ends with `aborted`. If the last step "
           "is between two evaluations, one more is logged with `off_cadence`, which cannot make "
           "the run a success. `auto`: `schedule.training_steps`.")});
}

ConfigSection initialization_section() {
  using S = InitializationConfig;
  const auto get = [](auto& config) -> auto& { return config.initialization; };
  return section("initialization", "What happens before the timed region.",
                 {key("warmup_steps", get, &S::warmup_steps, Integer<int>{0, 1000},
                      "Steps on synthetic data that bring code and memory into place, and on a GPU "
                      "tune and capture the shapes to come; the weights are restored. 0: none of "
                      "this."),
                  key("clear_whole_cache", get, &S::clear_whole_cache, Flag{},
                      "Empty the whole page cache of every node, which only root may. `false`: "
                      "drop only the files that the run reads. If this fails, `cache_clear` is "
                      "logged as false, and the closed division refuses to run.")});
}

ConfigSection checkpoint_section() {
  using S = CheckpointConfig;
  const auto get = [](auto& config) -> auto& { return config.checkpoint; };
  return section("checkpoint", "What `--resume` continues from ([resume.md](resume.md)).",
                 {key("every_steps", get, &S::every_steps, Integer<int64_t>{0, kTrillion},
                      "Steps between checkpoints, each after a step whose loss is read "
                      "(`log.loss_interval_steps`). 0: not by steps."),
                  key("every_seconds", get, &S::every_seconds, Number::at_least(0),
                      "Seconds between checkpoints. 0: not by time.")});
}

ConfigSection log_section() {
  using S = LogConfig;
  const auto get = [](auto& config) -> auto& { return config.log; };
  return section(
      "log", "What a run writes besides `result_N.txt` and `result_N.yaml`.",
      {key("step_trace", get, &S::step_trace, Flag{},
           "Write `result_N.steps.jsonl`: [one JSON line a step](overlap.md#the-step-trace)."),
       key("tensorboard", get, &S::tensorboard, Flag{},
           "Write `result_N.tensorboard/` during the run: losses, accuracies, learning rate and "
           "times over steps. `tensorboard --logdir` takes `run.output`."),
       key("timeline_steps", get, &S::timeline_steps, Integer<int>{0, 10000},
           "Write `result_N.timeline.json`: [what every rank did](overlap.md#see-it) in so many "
           "first steps. 0: none."),
       key("loss_interval_steps", get, &S::loss_interval_steps, Integer<int>{1, 100000},
           "Steps from one reading of the training loss to the next. The host waits for a GPU only "
           "then."),
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
                                                       schedule_section(),
                                                       clip_section(),
                                                       reduce_section(),
                                                       target_section(),
                                                       initialization_section(),
                                                       checkpoint_section(),
                                                       log_section()};
  return kSections;
}

}  // namespace strata::config
