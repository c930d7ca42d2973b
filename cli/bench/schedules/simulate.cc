#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/schedules/section.h"
#include "bench/simulation/job_simulation.h"
#include "bench/simulation/measured_speed.h"
#include "bench/step/synthetic_training.h"
#include "bert/parameters/parameters.h"
#include "cli/bench/bench.h"
#include "cli/bench/schedules/link_options.h"
#include "cli/bench/step/step_options.h"
#include "cli/options/config_options.h"
#include "cli/options/outputs.h"
#include "cli/options/plan_network.h"
#include "cli/output/write_json.h"
#include "config/run_config_names.h"
#include "training/factories/backend.h"
#include "training/factories/model.h"

namespace strata::cli {
namespace {

using nlohmann::ordered_json;

struct SimulateOptions {
  ConfigOptions run;
  PlanNetworkOptions network;
  std::vector<int> ranks;
  std::vector<double> buckets;     // MB; empty: the configuration's
  std::vector<std::string> clips;  // names; empty: the configuration's
  std::vector<int> channels;       // empty: channels limit nothing
  double channel_gigabytes = 0;
  int processors = 0;
  bench::MicroBatchSequences sequences;
  std::string measured, fitted, durations;
  double gigaflops = 0, gigabytes = 0;
  double slowest = 1;
  std::filesystem::path timeline;
  bool json = false;
};

struct SimulatedCase {
  int ranks = 1;
  config::ClipMode clip = config::ClipMode::kNone;
  double bucket_megabytes = 0;
  int channels = 0;  // 0: not limited
  bench::JobSimulation job;
  double without_communication = 0;  // seconds of the step

  double increase() const {
    const double increase = job.step / without_communication - 1;
    constexpr double kRounding = 1e-6;  // sums of the same times differ by their order
    return std::abs(increase) < kRounding ? 0 : increase;
  }
};

// Limits bandwidths to `channels` channels (CTAs) of --channel-gbytes each; 0: no limit.
plan::Network limited(plan::Network network, const SimulateOptions& options, int channels) {
  if (channels == 0) return network;
  const double most = channels * options.channel_gigabytes * 1e9;
  network.inside.bytes_per_second = std::min(network.inside.bytes_per_second, most);
  const double cards_of_rank = network.cards / static_cast<double>(network.domain);
  network.card.bytes_per_second = std::min(network.card.bytes_per_second, most / cards_of_rank);
  return network;
}

int64_t compute_bytes(const config::RunConfig& config) {
  return static_cast<int64_t>(size_of(training::compute_dtype(config)));
}

bench::DeviceSpeed speed_of(const SimulateOptions& options, const config::RunConfig& config,
                            const bert::BertConfig& model) {
  const bench::UpdateBytes bytes =
      bench::update_bytes(config.optimizer.name, compute_bytes(config));
  bench::DeviceSpeed speed;
  if (!options.measured.empty()) speed = bench::read_measured_speed(options.measured, model, bytes);
  if (!options.fitted.empty()) speed = bench::read_fitted_speed(options.fitted, model);
  if (options.gigaflops > 0) speed.flops_per_second = 1e9 * options.gigaflops;
  if (options.gigabytes > 0) speed.bytes_per_second = 1e9 * options.gigabytes;
  if (speed.flops_per_second == 0) {
    fail("the device's speed is missing: give --measured FILE, --fitted FILE or --gflops NUMBER");
  }
  if (!options.fitted.empty() && speed.bytes_per_second > 0) {
    // The fitted constant includes the update, which is now an operation of its own.
    const auto parameters = static_cast<double>(bert::ParameterLayout(model).size);
    const double update = (bytes.update + bytes.finish) * parameters / speed.bytes_per_second;
    speed.step_seconds = std::max(0.0, speed.step_seconds - update);
  }
  return speed;
}

// Returns the sequence lengths of a micro-batch: all as given, or else typical of MLPerf's mix.
std::vector<int32_t> lengths_of(const SimulateOptions& options, const config::RunConfig& config,
                                const bert::BertConfig& model) {
  if (options.sequences.length > 0) {
    return bench::micro_batch_lengths(config, options.sequences, model, 0);
  }
  const auto longest =
      static_cast<int32_t>(std::min<int64_t>(model.max_positions, bench::kLongestSample));
  int64_t sequences = config.batch.micro_batch;
  if (options.sequences.tokens > 0) {
    constexpr int64_t kMany = 4096;
    const std::vector<int32_t> many = bench::typical_lengths(kMany, longest);
    const double mean = std::accumulate(many.begin(), many.end(), 0.0) / kMany;
    const double wanted = static_cast<double>(options.sequences.tokens) / mean;
    if (wanted < 1) return {static_cast<int32_t>(options.sequences.tokens)};
    sequences = std::llround(wanted);
  }
  return bench::typical_lengths(sequences, longest);
}

class Simulations {
 public:
  explicit Simulations(const SimulateOptions& options)
      : options_(options),
        config_(options.run.load()),
        model_(training::make_bert_config(config_)),
        lengths_(lengths_of(options, config_, model_)),
        speed_(speed_of(options, config_, model_)) {
    if (!options.durations.empty()) durations_ = bench::read_durations(options.durations);
    const bool several = std::ranges::any_of(options.ranks, [](int ranks) { return ranks > 1; });
    const auto network = options.network.chosen(1);
    if (several && !network) fail("several ranks need --network, the link between them");
    for (const int channels : options.channels) {
      if (channels < options.processors) continue;
      fail(
          "--channels {}: the device has {} multiprocessors (--processors), and computing needs at "
          "least one; give fewer channels",
          channels, options.processors);
    }
    if (network) network_ = *network;
  }

  const config::RunConfig& config() const { return config_; }
  const std::vector<int32_t>& lengths() const { return lengths_; }
  const bench::DeviceSpeed& speed() const { return speed_; }

  std::vector<SimulatedCase> all() const {
    std::vector<SimulatedCase> cases;
    const std::vector<double> buckets =
        options_.buckets.empty() ? std::vector{config_.reduce.bucket_megabytes} : options_.buckets;
    std::vector<config::ClipMode> clips;
    for (const std::string& name : options_.clips)
      clips.push_back(*config::choice_named<config::ClipMode>(name));
    if (clips.empty()) clips.push_back(config_.clip.mode);
    const std::vector<int> channels =
        options_.channels.empty() ? std::vector{0} : options_.channels;
    for (const int ranks : options_.ranks) {
      for (const config::ClipMode clip : clips) {
        for (const double bucket : buckets) {
          for (const int each : channels) cases.push_back(simulated({ranks, clip, bucket, each}));
        }
      }
    }
    return cases;
  }

 private:
  SimulatedCase simulated(SimulatedCase simulated) const {
    config::RunConfig config = config_;
    config.run.division = config::Division::kOpen;  // nothing is submitted
    config.clip.mode = simulated.clip;
    config.reduce.bucket_megabytes = simulated.bucket_megabytes;
    if (const auto reason = bench::reason_to_skip(config, simulated.ranks)) fail("{}", *reason);
    const double taken =
        simulated.channels > 0 ? static_cast<double>(simulated.channels) / options_.processors : 0;
    bench::JobInput input{.config = config,
                          .model = model_,
                          .ranks = simulated.ranks,
                          .lengths = lengths_,
                          .compute_bytes = compute_bytes(config_),
                          .device = speed_,
                          .durations = durations_,
                          .network = limited(network_, options_, simulated.channels),
                          .slowest = options_.slowest,
                          .compute_speed_in_collectives = 1 - taken};
    simulated.job = bench::simulate_job(input);
    check_durations(simulated.job);
    input.network = plan::flat_network({0, std::numeric_limits<double>::infinity()});
    input.compute_speed_in_collectives = 1;
    simulated.without_communication = bench::simulate_job(input).step;
    return simulated;
  }

  // A timeline names buckets by number, so it must have as many buckets as the simulation.
  void check_durations(const bench::JobSimulation& job) const {
    if (durations_.empty()) return;
    for (int layer = 0; layer < model_.layers; ++layer) {
      const std::string backward = fmt::format("backward layer_{}", layer);
      if (durations_.contains(backward) ||
          durations_.contains("backward_half" + backward.substr(8)))
        continue;
      fail("--durations {}: has no '{}'; measure the same model", options_.durations, backward);
    }
    int measured = 0;
    while (durations_.contains(fmt::format("update {}", measured))) ++measured;
    if (measured == 0 || config::ranks_of_replica(config_) > 1 || measured == job.buckets) return;
    fail(
        "--durations {}: was measured with {}, but {} are simulated; measure with the same "
        "reduce.bucket_megabytes",
        options_.durations, counted(measured, "bucket"), job.buckets);
  }

  const SimulateOptions& options_;
  config::RunConfig config_;
  bert::BertConfig model_;
  std::vector<int32_t> lengths_;
  bench::DeviceSpeed speed_;
  std::map<std::string, double> durations_;
  plan::Network network_;
};

// Considers the cases with `ranks` ranks that are at most 0.1 % slower than the fastest of them.
// Returns the one that communicates least.
const SimulatedCase& best_of(const std::vector<SimulatedCase>& cases, int ranks) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const SimulatedCase& each : cases) {
    if (each.ranks == ranks) fastest = std::min(fastest, each.job.step);
  }
  const SimulatedCase* best = nullptr;
  const auto communication = [](const SimulatedCase& each) {
    return each.job.times.communication_seconds;
  };
  for (const SimulatedCase& each : cases) {
    if (each.ranks != ranks || each.job.step > 1.001 * fastest) continue;
    if (!best || communication(each) < communication(*best)) best = &each;
  }
  return *best;
}

ordered_json to_json(const SimulatedCase& each) {
  ordered_json result = {{"ranks", each.ranks},
                         {"clip", config::name_of(each.clip)},
                         {"bucket_megabytes", each.bucket_megabytes},
                         {"buckets", each.job.buckets}};
  if (each.channels > 0) result["channels"] = each.channels;
  const comm::StepTimes& times = each.job.times;
  result["seconds"] = {{"step", each.job.step},
                       {"step_without_communication", each.without_communication},
                       {"backward_end", each.job.backward_end},
                       {"communication", times.communication_seconds},
                       {"exposed_communication", times.exposed_communication_seconds},
                       {"clip", times.clip_seconds},
                       {"update", times.update_seconds}};
  if (each.job.exposed_formula) {
    result["seconds"]["exposed_communication_closed_form"] = *each.job.exposed_formula;
  }
  return result;
}

void print_json(const Simulations& simulations, const std::vector<SimulatedCase>& cases) {
  ordered_json list = ordered_json::array();
  for (const SimulatedCase& each : cases) list.push_back(to_json(each));
  write_json(ordered_json{
      {"version", kJsonVersion},
      {"executor", simulations.config().device.backend->memory_is_host ? "threads" : "streams"},
      {"flops_per_second", simulations.speed().flops_per_second},
      {"bytes_per_second", simulations.speed().bytes_per_second},
      {"step_constant_seconds", simulations.speed().step_seconds},
      {"micro_batch_lengths", simulations.lengths()},
      {"simulations", list}});
}

void print_table(const Simulations& simulations, const std::vector<SimulatedCase>& cases) {
  int64_t tokens = 0;
  for (const int32_t length : simulations.lengths()) tokens += length;
  fmt::print("{}: {} GFLOP/s, {}; each rank: {} of {} in {}\n",
             simulations.config().device.backend->memory_is_host ? "threads" : "streams",
             rounded_text(simulations.speed().flops_per_second / 1e9),
             simulations.speed().bytes_per_second > 0
                 ? rounded_text(simulations.speed().bytes_per_second / 1e9) + " GB/s"
                 : "clipping and updates take no time",
             counted(simulations.config().batch.gradient_accumulation_steps, "micro-batch"),
             counted(tokens, "token"),
             counted(static_cast<int64_t>(simulations.lengths().size()), "sequence"));
  fmt::print("{:>7} {:>26} {:>10} {:>8} {:>9} {:>9} {:>9} {:>14} {:>9} {:>12} {:>9}\n", "ranks",
             "clip", "bucket MB", "buckets", "channels", "step ms", "backward", "communication",
             "exposed", "closed form", "increase");
  for (const SimulatedCase& each : cases) {
    const auto ms = [](double seconds) { return fmt::format("{:.2f}", 1e3 * seconds); };
    fmt::print(
        "{:>7} {:>26} {:>10} {:>8} {:>9} {:>9} {:>9} {:>14} {:>9} {:>12} {:>+8.1f}%\n", each.ranks,
        config::name_of(each.clip), rounded_text(each.bucket_megabytes), each.job.buckets,
        each.channels > 0 ? std::to_string(each.channels) : "", ms(each.job.step),
        ms(each.job.backward_end), ms(each.job.times.communication_seconds),
        ms(each.job.times.exposed_communication_seconds),
        each.job.exposed_formula ? ms(*each.job.exposed_formula) : "", 100 * each.increase());
  }
  std::vector<int> ranks;
  for (const SimulatedCase& each : cases) {
    if (std::ranges::find(ranks, each.ranks) == ranks.end()) ranks.push_back(each.ranks);
  }
  if (ranks.size() == cases.size()) return;
  for (const int number : ranks) {
    const SimulatedCase& best = best_of(cases, number);
    fmt::print("best on {}: clip {}, buckets of {} MB{}\n", counted(number, "rank"),
               config::name_of(best.clip), rounded_text(best.bucket_megabytes),
               best.channels > 0 ? ", " + counted(best.channels, "channel") : "");
  }
}

void write_timeline_of(const bench::JobSimulation& job, const std::filesystem::path& path) {
  std::string events;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    events += training::timeline_events(static_cast<int>(i), job.ranks[i].name,
                                        job.ranks[i].timeline("simulated step"));
  }
  training::write_timeline(path, std::move(events));
}

}  // namespace

void add_bench_simulate(CLI::App& bench) {
  const auto options = std::make_shared<SimulateOptions>();
  CLI::App* command =
      bench.add_subcommand("simulate", "Simulate a step's operations on any number of ranks");
  add_config_options(*command, options->run,
                     ": model, precision, batch, clip, reduce, parallel, optimizer.sharded, device",
                     "device.backend=cuda")
      ->required();
  command->add_option("--ranks", options->ranks, "Numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->required();
  CLI::Option* measured =
      command
          ->add_option("--measured", options->measured,
                       "The device's speeds: output of 'strata bench step --json' on one rank with "
                       "the same model and optimizer, and batch.activations keep")
          ->type_name("FILE");
  command
      ->add_option("--fitted", options->fitted,
                   "The device's speeds: output of 'strata plan --json', fitted to measured steps "
                   "or published systems")
      ->type_name("FILE")
      ->excludes(measured);
  CLI::Option* durations =
      command
          ->add_option("--durations", options->durations,
                       "A measured timeline. Its median times of forward, backward, clipping and "
                       "updates replace times that are computed from speeds")
          ->type_name("FILE");
  command
      ->add_option("--gflops", options->gigaflops,
                   "Speed of forward and backward in GFLOP/s, instead of the file's")
      ->check(a_speed());
  command
      ->add_option("--gbytes", options->gigabytes,
                   "Memory bandwidth of norms, clipping, conversion and updates in GB/s, instead "
                   "of the file's. Without a bandwidth they take no time")
      ->check(a_speed());
  add_network_options(*command, options->network,
                      {.network = "Needed for several ranks", .domain = "Default: none"});
  command
      ->add_option("--buckets", options->buckets,
                   "Sizes of a gradient bucket in MB (default: reduce.bucket_megabytes)")
      ->delimiter(',')
      ->check(between(0.001, 1e6))
      ->excludes(durations);
  command->add_option("--clip", options->clips, "Clip modes (default: clip.mode)")
      ->delimiter(',')
      ->check(CLI::IsMember(config::names_of_choices<config::ClipMode>()));
  CLI::Option* channel_speed = command
                                   ->add_option("--channel-gbytes", options->channel_gigabytes,
                                                "Bandwidth of one channel in GB/s")
                                   ->check(a_speed());
  CLI::Option* processors =
      command
          ->add_option("--processors", options->processors,
                       "Number of multiprocessors of the device, such as 108 for A100")
          ->check(CLI::Range(2, 100000));
  CLI::Option* channels =
      command
          ->add_option("--channels", options->channels,
                       "Numbers of NCCL's channels (CTAs; reduce.nccl_max_ctas): each takes a "
                       "multiprocessor from computing and sends at most --channel-gbytes. Default: "
                       "channels take none, and only the network limits sending")
          ->delimiter(',')
          ->check(CLI::Range(1, 1024))
          ->needs(channel_speed)
          ->needs(processors);
  channel_speed->needs(channels);
  processors->needs(channels);
  command
      ->add_option("--slowest", options->slowest,
                   "Factor by which one replica computes slower than the others")
      ->check(between(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--tokens", options->sequences.tokens,
                   "Approximate tokens of a micro-batch, instead of batch.micro_batch sequences")
      ->check(CLI::Range(1, 1 << 24));
  add_length_option(*command, options->sequences.length);
  names_output(command->add_option("--timeline", options->timeline,
                                   "Write the step as Chrome trace JSON, for 'strata plot "
                                   "timeline'. Needs exactly one case (see below)"),
               OutputKind::kFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Simulates the operations that 'strata bench step --explain' prints, by the rules of the\n"
      "executor of device.backend: threads or streams. Exposed is the communication after "
      "backward\n"
      "while no bucket is clipped or updated. Closed form: exposed time by a formula without\n"
      "clipping and updates. Increase: the time that communication adds to a step. A case has one\n"
      "number of ranks, clip mode, bucket size and number of channels. Best: for each number of\n"
      "ranks, the case with the least communication among those at most 0.1 % slower than the\n"
      "fastest.\n"
      "docs/plan.md compares simulated with measured steps.");
  command->callback([options] {
    const auto config = options->run.load();
    refuse_to_replace(files_read(config), options->timeline, "--timeline");
    const Simulations simulations(*options);
    const std::vector<SimulatedCase> cases = simulations.all();
    if (!options->timeline.empty()) {
      if (cases.size() > 1) {
        fail(
            "--timeline: needs exactly one case, not {}; give one number of ranks, one clip mode, "
            "one bucket size and one number of channels",
            cases.size());
      }
      write_timeline_of(cases.front().job, options->timeline);
    }
    options->json ? print_json(simulations, cases) : print_table(simulations, cases);
  });
}

}  // namespace strata::cli
