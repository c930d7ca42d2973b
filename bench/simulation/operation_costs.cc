#include "bench/simulation/operation_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "bert/flops.h"
#include "comm/buckets/sharding/gather_groups.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/buckets.h"
#include "training/trace/timeline.h"

namespace strata::bench {
namespace {

using comm::kNoObject;
using comm::Operation;
using comm::OperationCost;
using enum Operation::Kind;

class Costs {
 public:
  explicit Costs(const CostInput& input)
      : input_(input), flops_(block_flops(input.model, input.lengths)) {
    tokens_ = static_cast<double>(
        std::accumulate(input.lengths.begin(), input.lengths.end(), int64_t{0}));
    const comm::BucketOptions options = training::bucket_options(input.config);
    reduced_bytes_ = static_cast<double>(size_of(options.reduce_dtype));
    compute_bytes_ = static_cast<double>(input.compute_bytes);
    update_bytes_ = update_bytes(input.config.optimizer.name, input.compute_bytes);
    if (!input.plan.schedule.gather_groups.empty()) {
      const bert::ParameterLayout layout(input.model);
      gather_groups_ = comm::make_gather_groups(layout.boundaries,
                                                training::gradient_buckets(input.config, layout));
    }
  }

  std::vector<OperationCost> all() const {
    std::vector<OperationCost> costs;
    for (const Operation& operation : input_.list.operations()) {
      costs.push_back(cost_of(operation));
    }
    return costs;
  }

 private:
  OperationCost cost_of(const Operation& operation) const {
    switch (operation.lane) {
      case comm::Lane::kMessages:
        return message(operation);
      case comm::Lane::kCollectives:
      case comm::Lane::kGathers:
        return collective(operation);
      case comm::Lane::kCompute:
      case comm::Lane::kArithmetic:
        break;
    }
    return {input_.slowness * measured(operation).value_or(seconds_alone(operation))};
  }

  // ---- Operations without other ranks.

  std::optional<double> measured(const Operation& operation) const {
    // Buckets of other stages and other rounds have the same names.
    const bool is_named_alike = input_.stages > 1 || input_.buckets.rounds > 1;
    if (input_.durations.empty() || (is_of_bucket(operation.kind) && is_named_alike)) return {};
    const auto found = input_.durations.find(
        training::name_in_timeline(operation.kind, operation.object, input_.plan.names));
    return found == input_.durations.end() ? std::nullopt : std::optional(found->second);
  }

  double seconds_alone(const Operation& operation) const {
    if (comm::is_of_bucket(operation.kind)) return memory_seconds(operation);
    return flops_of(operation) / input_.device.flops_per_second;
  }

  double flops_of(const Operation& operation) const {
    const int heads = input_.plan.schedule.blocks - 1;
    if (operation.object == kNoObject || operation.object == 0) return 0;
    const bool is_heads = operation.object == heads;
    const double backward = is_heads ? flops_.heads_backward : 2.0 / 3 * flops_.layer;
    switch (operation.kind) {
      case kForward:
      case kRecompute:
        return is_heads ? flops_.heads_forward : flops_.layer / 3;
      case kBackward:
        return backward;
      case kBackwardHalf:
        return half_share(operation.object) * backward;
      case kBackwardRest:
        return (1 - half_share(operation.object)) * backward;
      default:
        return 0;
    }
  }
  // The share of a block's parameters in the half that backward completes first. Its share of the
  // FLOPs is about the same, as attention's scores belong to the other half.
  double half_share(int block) const {
    const auto index = static_cast<size_t>(block);
    return static_cast<double>(input_.plan.halves[index].size()) /
           static_cast<double>(input_.plan.gradients[index].size());
  }

  double memory_seconds(const Operation& operation) const {
    if (input_.device.bytes_per_second == 0 || operation.object == kNoObject) return 0;
    return elements_of(operation) * bytes_moved(operation) / input_.device.bytes_per_second;
  }
  // Returns the bytes per element of the bucket. comm::BucketArithmetic does the same work.
  double bytes_moved(const Operation& operation) const {
    const comm::BucketPlan& plan = input_.buckets;
    switch (operation.kind) {
      case kNorm:
        return kGradientBytes;
      case kClip:
        if (plan.single_rank()) return 0;
        if (plan.converts) return kGradientBytes + reduced_bytes_;
        return plan.rule->clips_own() ? 2 * kGradientBytes : 0;
      case kCastBack: {
        double bytes = plan.converts       ? kGradientBytes + reduced_bytes_
                       : plan.keeps_shards ? 2 * kGradientBytes
                                           : 0;
        if (operation.round > 0) bytes += 3 * kGradientBytes;  // adds to the earlier rounds
        if (plan.rule->norms_sums() && operation.round + 1 == plan.rounds) bytes += kGradientBytes;
        return bytes / shards();
      }
      case kUpdate:
        return (update_bytes_.update + (plan.defers ? 0 : update_bytes_.finish)) / shards();
      case kFinishUpdate:
        return update_bytes_.finish / shards();
      default:
        return 0;
    }
  }
  double shards() const { return input_.buckets.sharded() ? input_.replicas : 1; }
  double elements_of(const Operation& operation) const {
    return static_cast<double>(
        input_.buckets.buckets[static_cast<size_t>(operation.object)].size());
  }

  // ---- Operations with other ranks.

  // Communicators: the replicas of each stage, once for reductions and once for gathers; all ranks;
  // the stages of each replica.
  OperationCost collective(const Operation& operation) const {
    const plan::Network network = plan::network_of_group(input_.network, input_.stages);
    const int stage = input_.plan.schedule.stage.index;
    const auto over_replicas = [&](double share, double bytes, int communicator) {
      const double latency = plan::all_reduce_seconds(network, 0, input_.replicas);
      const double all = plan::all_reduce_seconds(network, bytes, input_.replicas);
      return OperationCost{share * (all - latency), share * latency, communicator};
    };
    switch (operation.kind) {
      case kReduce: {
        const double share = input_.buckets.sharded() ? 0.5 : 1;  // reduce-scatter is half of it
        return over_replicas(share, elements_of(operation) * reduced_bytes_, stage);
      }
      case kGatherUpdated:
        return over_replicas(0.5, elements_of(operation) * compute_bytes_, input_.stages + stage);
      case kGather:
        return over_replicas(0.5, gather_group_elements(operation) * compute_bytes_,
                             input_.stages + stage);
      case kReduceRows:
        return over_replicas(
            1, rows() * static_cast<double>(input_.model.hidden_size) * reduced_bytes_, stage);
      case kReduceNorm:
      case kReduceOverflow: {
        // A number: over the stages, and before that over the replicas unless a rank's own
        // gradients are clipped.
        const bool is_own = operation.kind == kReduceNorm && !input_.buckets.rule->norms_sums();
        OperationCost cost = is_own ? OperationCost{} : over_replicas(1, sizeof(double), stage);
        if (input_.stages == 1) return cost;
        cost.latency += plan::all_reduce_seconds(input_.network, sizeof(double), input_.stages);
        cost.meets = 2 * input_.stages + (is_own ? 1 + input_.replica : 0);
        return cost;
      }
      default:  // LAMB's sums and the bits of touched rows, which are few bytes
        return over_replicas(1, 0, stage);
    }
  }
  double gather_group_elements(const Operation& operation) const {
    const int group = input_.plan.schedule.gather_groups[static_cast<size_t>(operation.object)];
    return static_cast<double>(gather_groups_[static_cast<size_t>(group)].size());
  }
  // Returns at most how many rows of the word embeddings all ranks' tokens touch.
  double rows() const {
    return std::min(static_cast<double>(input_.model.vocab_size),
                    tokens_ * input_.plan.schedule.micro_batches * input_.replicas);
  }

  // A message is numbered by its replica, direction, the block whose output it belongs to, and its
  // micro-batch.
  OperationCost message(const Operation& operation) const {
    const training::Schedule& schedule = input_.plan.schedule;
    const bool is_gradient = operation.kind == kSendGradient || operation.kind == kReceiveGradient;
    const bool is_of_next_block =
        operation.kind == kReceiveInput || operation.kind == kSendGradient;
    const int block = operation.object - (is_of_next_block ? 1 : 0);
    const int number = ((input_.replica * 2 + (is_gradient ? 1 : 0)) * schedule.blocks + block) *
                           schedule.micro_batches +
                       operation.round;
    const plan::Link link = plan::link_between_neighbours(input_.network, input_.stages);
    const double bytes = tokens_ * static_cast<double>(input_.model.hidden_size) * compute_bytes_;
    return {bytes / link.bytes_per_second, link.latency + input_.device.message_seconds, number};
  }

  const CostInput& input_;
  BlockFlops flops_;
  double tokens_ = 0;                             // of a micro-batch
  double reduced_bytes_ = 0, compute_bytes_ = 0;  // of an element
  UpdateBytes update_bytes_;
  std::vector<Range> gather_groups_;  // empty: all weights are in memory
};

}  // namespace

BlockFlops block_flops(const bert::BertConfig& model, const std::vector<int32_t>& lengths) {
  int64_t masked = 0;
  for (const int32_t length : lengths) masked += training::masked_by_recipe(length);
  const double all = bert::training_flops(model, lengths, masked);
  const double heads = bert::training_flops(model, lengths, masked, 0);
  const double hidden = static_cast<double>(model.hidden_size);
  const double transform = 2 * hidden * hidden * static_cast<double>(masked);
  return {.layer = (all - heads) / static_cast<double>(model.layers),
          .heads_forward = heads - 2 * transform,
          .heads_backward = 2 * transform};
}

UpdateBytes update_bytes(config::OptimizerKind optimizer, int64_t compute_bytes) {
  const double weights = compute_bytes < 4 ? static_cast<double>(compute_bytes) : 0;
  // Gradient, weight and state are read, weight and state are written.
  const auto elementwise = [&](int read, int written) {
    return UpdateBytes{4.0 * (2 + read) + 4.0 * (1 + written) + weights, 0};
  };
  using enum config::OptimizerKind;
  switch (optimizer) {
    case kAdam:
    case kAcClip:
      return elementwise(2, 2);
    case kMadgrad:
      return elementwise(3, 2);
    case kSgd:
      return elementwise(1, 1);
    case kLamb:
      break;
  }
  // Directions replace the gradients; then directions and weights are read, and weights written.
  return {.update = 28, .finish = 12 + weights};
}

std::vector<int32_t> typical_lengths(int64_t sequences, int32_t longest) {
  constexpr int64_t kTokens = 1 << 22;
  std::vector<int32_t> drawn = training::wikipedia_lengths(kTokens, longest, 0);
  std::ranges::sort(drawn);
  std::vector<int32_t> lengths;
  const auto size = static_cast<int64_t>(drawn.size());
  for (int64_t i = 0; i < sequences; ++i) {
    const auto first = drawn.begin() + i * size / sequences;
    const auto last = std::max(first + 1, drawn.begin() + (i + 1) * size / sequences);
    const double sum = std::accumulate(first, last, 0.0);
    lengths.push_back(static_cast<int32_t>(std::lround(sum / static_cast<double>(last - first))));
  }
  return lengths;
}

std::vector<OperationCost> operation_costs(const CostInput& input) { return Costs(input).all(); }

}  // namespace strata::bench
