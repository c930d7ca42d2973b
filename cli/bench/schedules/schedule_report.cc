#include "cli/bench/schedules/schedule_report.h"

#include <fmt/format.h>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "cli/bench/schedules/link_options.h"

namespace strata::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const bench::Compared& value) {
  return {
      {"measured", value.measured}, {"formula", value.formula}, {"deviation", value.deviation()}};
}

// Converts sums of bytes over all ranks to means per rank.
ordered_json bytes_to_json(int64_t measured, int64_t formula, int ranks) {
  return {{"measured", static_cast<double>(measured) / ranks},
          {"formula", static_cast<double>(formula) / ranks},
          {"equal", measured == formula}};
}

bench::Compared mean_of_ranks(const bench::Compared& sum, int ranks) {
  return {sum.measured / ranks, sum.formula / ranks};
}

ordered_json to_json(const std::vector<bench::Skipped>& skipped) {
  ordered_json list = ordered_json::array();
  for (const bench::Skipped& each : skipped) {
    list.push_back({{"order", each.name}, {"reason", each.reason}});
  }
  return list;
}

ordered_json to_json(const bench::DataParallelOrders& section) {
  ordered_json orders = ordered_json::array();
  for (const bench::OrderMeasurement& order : section.orders) {
    orders.push_back({{"order", order.name},
                      {"step_increase", order.step_increase()},
                      {"step_seconds", order.step},
                      {"step_seconds_without_communication", order.step_without_link},
                      {"forward_seconds", order.forward},
                      {"backward_seconds", order.backward},
                      {"backward_seconds_beside_communication", order.hides},
                      {"tail_share", order.tail},
                      {"communication_seconds", to_json(order.communication)},
                      {"exposed_communication_seconds", to_json(order.exposed)},
                      {"activation_bytes", to_json(order.activations)},
                      {"memory_bytes", order.all_memory}});
  }
  return {{"tokens_per_step", section.tokens},
          {"buckets", section.buckets},
          {"gradient_bytes_per_step", section.bytes},
          {"orders", orders},
          {"skipped", to_json(section.skipped)}};
}

ordered_json to_json(const bench::Pipelines& section, int ranks) {
  ordered_json orders = ordered_json::array();
  for (const bench::PipelineMeasurement& order : section.pipelines) {
    orders.push_back({{"order", order.name},
                      {"pipeline", config::name_of(order.pipeline)},
                      {"stages", order.stages},
                      {"step_seconds", order.step},
                      {"span_seconds", order.slowest.span},
                      {"layers_seconds", order.slowest.layers},
                      {"heads_seconds", order.slowest.heads},
                      {"waiting_seconds", order.waiting},
                      {"bubble",
                       {{"measured", order.bubble.measured},
                        {"paper", order.parts.paper},
                        {"messages", order.parts.messages},
                        {"heads", order.parts.heads},
                        {"formula", order.bubble.formula},
                        {"deviation", order.bubble.measured - order.bubble.formula}}},
                      {"message_bytes_per_stage",
                       bytes_to_json(order.message_bytes, order.message_bytes_formula, ranks)},
                      {"activation_bytes", to_json(mean_of_ranks(order.activations, ranks))}});
  }
  return {{"orders", orders}, {"skipped", to_json(section.skipped)}};
}

ordered_json to_json(const bench::ShardedOrders& section, int ranks) {
  ordered_json orders = ordered_json::array();
  for (const bench::ShardingMeasurement& order : section.orders) {
    const auto memory = [&](int64_t training::ParameterMemory::*what) {
      return bytes_to_json(order.memory.*what, order.memory_formula.*what, ranks);
    };
    orders.push_back(
        {{"order", order.name},
         {"sharded", config::name_of(order.sharded)},
         {"accumulation_order", config::name_of(order.order)},
         {"step_seconds", order.step},
         {"communication_seconds", order.communication},
         {"bytes_sent_per_step", bytes_to_json(order.bytes_sent, order.bytes_sent_formula, ranks)},
         {"weight_bytes", memory(&training::ParameterMemory::weights)},
         {"gradient_bytes", memory(&training::ParameterMemory::gradients)},
         {"state_bytes", memory(&training::ParameterMemory::state)},
         {"resident_bytes", to_json(mean_of_ranks(order.resident, ranks))}});
  }
  return {{"orders", orders}, {"skipped", to_json(section.skipped)}};
}

ordered_json to_json(const bench::Modules& section, int ranks) {
  ordered_json orders = ordered_json::array();
  for (const bench::ModulesMeasurement& order : section.orders) {
    orders.push_back({{"order", order.name},
                      {"delayed", order.delayed},
                      {"step_seconds", order.step},
                      {"forward_seconds", order.forward},
                      {"backward_seconds", order.backward},
                      {"longest_backward_seconds", order.longest_backward},
                      {"waiting_seconds", order.waiting},
                      {"span_seconds", to_json(order.span)},
                      {"message_bytes_per_rank",
                       bytes_to_json(order.message_bytes, order.message_bytes_formula, ranks)},
                      {"activation_bytes", to_json(mean_of_ranks(order.activations, ranks))},
                      {"stash_bytes", static_cast<double>(order.stash_bytes) / ranks}});
  }
  return {{"orders", orders}, {"skipped", to_json(section.skipped)}};
}

void print(const std::vector<bench::Skipped>& skipped) {
  for (const bench::Skipped& each : skipped) {
    fmt::print("{:<35} skipped: {}\n", each.name, each.reason);
  }
}

// Prints the table columns for activations.
void print_memory_head() {
  fmt::print("{:<34}{:>12}{:>9}{:>10}", "MB a rank", "activations", "formula", "deviation");
}
void print_memory(const std::string& order, const bench::Compared& activations) {
  fmt::print("{:<34}{:>12.1f}{:>9.1f}{:>+9.1f}%", order, activations.measured / 1e6,
             activations.formula / 1e6, 100 * activations.deviation());
}

void print(const bench::DataParallelOrders& section) {
  fmt::print("\ndata parallel: {:.1f} MB of gradients a step in {}\n", section.bytes / 1e6,
             counted(section.buckets, "bucket"));
  fmt::print("{:<34}{:>9}{:>10}{:>10}{:>7}{:>15}{:>10}{:>9}{:>10}\n", "ms", "step", "increase",
             "backward", "tail", "communication", "exposed", "formula", "deviation");
  for (const bench::OrderMeasurement& order : section.orders) {
    fmt::print("{:<34}{:>9.1f}{:>+9.1f}%{:>10.1f}{:>6.1f}%{:>15.1f}{:>10.1f}{:>9.1f}{:>+9.1f}%\n",
               order.name, order.step * 1e3, 100 * order.step_increase(), order.backward * 1e3,
               100 * order.tail, order.communication.measured * 1e3, order.exposed.measured * 1e3,
               order.exposed.formula * 1e3, 100 * order.exposed.deviation());
  }
  print_memory_head();
  fmt::print("{:>17}\n", "all memory");
  for (const bench::OrderMeasurement& order : section.orders) {
    print_memory(order.name, order.activations);
    fmt::print("{:>17.1f}\n", order.all_memory / 1e6);
  }
  print(section.skipped);
}

// Says whether a measured number equals its formula.
const char* equality(int64_t measured, int64_t formula) {
  return measured == formula ? "equal" : "unequal";
}

void print(const bench::Pipelines& section, int ranks) {
  fmt::print("\npipelines\n");
  fmt::print("{:<34}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}{:>9}{:>8}{:>9}{:>11}{:>12}{:>12}\n", "ms",
             "step", "layers", "heads", "waiting", "bubble", "paper", "messages", "heads %",
             "formula", "deviation", "MB sent", "formula");
  for (const bench::PipelineMeasurement& order : section.pipelines) {
    const auto megabytes = [&](int64_t bytes) { return 1e-6 * static_cast<double>(bytes) / ranks; };
    fmt::print(
        "{:<34}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>8.1f}%{:>7.1f}%{:>8.1f}%{:>7.1f}%{:>8.1f}%{:>+9."
        "1f} "
        "p{:>12.3f}{:>12}\n",
        order.name, order.step * 1e3, order.slowest.layers * 1e3, order.slowest.heads * 1e3,
        order.waiting * 1e3, 100 * order.bubble.measured, 100 * order.parts.paper,
        100 * order.parts.messages, 100 * order.parts.heads, 100 * order.bubble.formula,
        100 * (order.bubble.measured - order.bubble.formula), megabytes(order.message_bytes),
        equality(order.message_bytes, order.message_bytes_formula));
  }
  print_memory_head();
  fmt::print("\n");
  for (const bench::PipelineMeasurement& order : section.pipelines) {
    print_memory(order.name, mean_of_ranks(order.activations, ranks));
    fmt::print("\n");
  }
  print(section.skipped);
}

void print(const bench::ShardedOrders& section, int ranks) {
  const auto megabytes = [&](auto bytes) { return 1e-6 * static_cast<double>(bytes) / ranks; };
  fmt::print("\nsharding, MB a rank\n");
  fmt::print("{:<34}{:>9}{:>10}{:>9}{:>10}{:>11}{:>8}{:>9}{:>10}{:>9}{:>10}\n", "", "step ms",
             "sent", "formula", "weights", "gradients", "state", "formula", "resident", "formula",
             "deviation");
  for (const bench::ShardingMeasurement& order : section.orders) {
    fmt::print(
        "{:<34}{:>9.1f}{:>10.3f}{:>9}{:>10.1f}{:>11.1f}{:>8.1f}{:>9}{:>10.1f}{:>9.1f}{:>+9.1f}%\n",
        order.name, order.step * 1e3, megabytes(order.bytes_sent),
        equality(order.bytes_sent, order.bytes_sent_formula), megabytes(order.memory.weights),
        megabytes(order.memory.gradients), megabytes(order.memory.state),
        equality(order.memory.total(), order.memory_formula.total()),
        megabytes(order.resident.measured), megabytes(order.resident.formula),
        100 * order.resident.deviation());
  }
  print(section.skipped);
}

void print(const bench::Modules& section, int ranks) {
  fmt::print("\nmodules, one micro-batch a step\n");
  fmt::print("{:<34}{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>9}{:>10}{:>12}{:>12}\n", "ms", "step",
             "forward", "backward", "longest", "waiting", "span", "formula", "deviation", "MB sent",
             "formula");
  const auto megabytes = [&](int64_t bytes) { return 1e-6 * static_cast<double>(bytes) / ranks; };
  for (const bench::ModulesMeasurement& order : section.orders) {
    fmt::print(
        "{:<34}{:>9.1f}{:>9.1f}{:>10.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>+9.1f}%{:>12.3f}{:>12}"
        "\n",
        order.name, order.step * 1e3, order.forward * 1e3, order.backward * 1e3,
        order.longest_backward * 1e3, order.waiting * 1e3, order.span.measured * 1e3,
        order.span.formula * 1e3, 100 * order.span.deviation(), megabytes(order.message_bytes),
        equality(order.message_bytes, order.message_bytes_formula));
  }
  print_memory_head();
  fmt::print("{:>17}\n", "stashed weights");
  for (const bench::ModulesMeasurement& order : section.orders) {
    print_memory(order.name, mean_of_ranks(order.activations, ranks));
    fmt::print("{:>17.1f}\n", megabytes(order.stash_bytes));
  }
  print(section.skipped);
}

}  // namespace

const char* const kScheduleColumns =
    R"(Needs several ranks: scripts/mpirun.sh -n 2 strata bench schedule --config FILE
Times are medians over the steps, for the slowest rank. Orders that the ranks or the configuration
do not allow are listed with the reason.

Data parallel (every rank has the whole model)
  step, increase   step with communication, and its increase over the same step without
  backward         time of backward for all micro-batches
  tail             share of the gradients that only the last block completes
  communication    time in reductions
  exposed          part of it after backward, while no bucket is clipped or updated. Both times
                   are those of the rank that computes longest, because others wait for it
  formula          the exposed time, bucket by bucket, if layers take equal parts of backward
  activations      memory of all micro-batches in flight; formula: tensors of every block
  all memory       device memory: weights, gradients, state, activations, scratch
Pipelines (parallel.stages, or every number above 1 that divides the ranks)
  layers           forward and backward of the layers of one stage: the ideal time. Layers, heads
                   and bubble are those of the slowest replica
  heads            extra time of stage 0 for heads and embeddings
  waiting          time of waiting for messages of other stages, mean over all stages
  bubble           extra time of stage 0 until its last backward ends, over the ideal time
  paper            (P - 1) / n contiguous, (P - 1) / (n L / P) modular: P stages, n micro-batches,
                   L layers (Lamy-Poirier, arXiv 2106.02679)
  messages         time of one micro-batch's messages, through P stages and back, over the ideal
                   time
  heads %          heads over the ideal time. Stage 0 computes them instead of waiting
  formula          the larger of paper + messages and heads %; deviation: in percentage points
  MB sent          by a stage in messages; formula: whether this equals 2 R T H c, R runs of
                   layers on a stage (1, or L / P modular), T tokens of a step, H hidden units, c
                   bytes of the compute dtype
Sharding (optimizer.sharded)
  sent             by a rank in collectives; formula: whether this equals the formula of
                   docs/methods/sharding.md
  weights, gradients, state   memory; formula: whether this equals the formula of
                   training/ranks/parameter_memory.h
  resident         VmRSS after the last step minus VmRSS before the model was made; formula:
                   weights, gradients, state and activations. With --sleep all memory is taken at
                   once
Modules (ouroboros.modules, one more than ranks, on a ring)
  forward, backward   time of all modules; longest: backward of the rank with most work, the first,
                   which has two modules
  waiting          time of waiting for messages of other ranks, mean over all ranks
  span             time of a step until the last backward ends; formula: forward + backward,
                   delayed: forward + longest (Yang et al., arXiv 1909.06695), without messages
  MB sent          by a rank in messages; formula: whether all ranks together send
                   2 (K - 1) T H c, K modules
  stashed weights  memory of weights that are kept for delayed backward)";

nlohmann::ordered_json to_json(const bench::ScheduleBenchmark& b) {
  ordered_json result = {{"version", kJsonVersion},
                         {"device", b.device},
                         {"ranks", b.ranks},
                         {"micro_batches", b.micro_batches}};
  if (b.link) result["emulated_link"] = link_to_json(*b.link);
  if (b.data_parallel) result["data_parallel"] = to_json(*b.data_parallel);
  if (b.pipelines) result["pipelines"] = to_json(*b.pipelines, b.ranks);
  if (b.sharding) result["sharding"] = to_json(*b.sharding, b.ranks);
  if (b.modules) result["modules"] = to_json(*b.modules, b.ranks);
  return result;
}

void print_tables(const bench::ScheduleBenchmark& b) {
  fmt::print("{}\n{}, {} of {}, over {}\n", b.device, counted(b.ranks, "rank"),
             counted(b.micro_batches, "micro-batch"),
             b.micro_batch_tokens > 0 ? counted(b.micro_batch_tokens, "token")
                                      : counted(b.micro_batch_sequences, "sequence"),
             describe_link(b.link));
  if (b.data_parallel) print(*b.data_parallel);
  if (b.pipelines) print(*b.pipelines, b.ranks);
  if (b.sharding) print(*b.sharding, b.ranks);
  if (b.modules) print(*b.modules, b.ranks);
}

}  // namespace strata::cli
