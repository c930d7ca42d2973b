#include "bench/simulation/operation_costs.h"

#include <algorithm>
#include <numeric>

#include "bert/flops.h"
#include "comm/buckets/sharding/units.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/buckets.h"

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
    gathered_bytes_ = static_cast<double>(input.device.compute_bytes);
    if (!input.plan.schedule.units.empty()) {
      const bert::ParameterLayout layout(input.model);
      units_ =
          comm::make_units(layout.boundaries, training::gradient_buckets(input.config, layout));
    }
  }

  std::vector<OperationCost> all() const {
    std::vector<OperationCost> costs;
    for (const Operation& operation : input_.list.operations()) {
      costs.push_back(cost_of(operation));
    }
    const auto computes = [](const Operation& operation) {
      return operation.lane == comm::Lane::kCompute;
    };
    const auto first = std::ranges::find_if(input_.list.operations(), computes);
    if (first != input_.list.operations().end()) {
      costs[static_cast<size_t>(first - input_.list.operations().begin())].seconds +=
          input_.device.step_seconds;
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
    return {input_.slowness * seconds_alone(operation)};
  }

  // ---- Operations without other ranks.

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
  // The share of a block's parameters in the half that backward completes first.
  double half_share(int block) const {
    const auto index = static_cast<size_t>(block);
    return static_cast<double>(input_.plan.halves[index].size()) /
           static_cast<double>(input_.plan.gradients[index].size());
  }

  double memory_seconds(const Operation& operation) const {
    if (input_.device.bytes_per_second == 0 || operation.object == kNoObject) return 0;
    return elements_of(operation) * bytes_moved(operation.kind) / input_.device.bytes_per_second;
  }
  double bytes_moved(Operation::Kind kind) const {
    switch (kind) {
      case kNorm:
        return kGradientBytes;
      case kClip:
      case kCastBack:
        return input_.buckets.converts ? kGradientBytes + reduced_bytes_ : 0;
      case kUpdate:
        return kUpdateBytes / shards();
      case kFinishUpdate:
        return 2 * kGradientBytes / shards();
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

  // Communicators: the replicas of each stage, once for reductions and once for gathers, and the
  // ranks of all stages.
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
        return over_replicas(0.5, elements_of(operation) * gathered_bytes_, input_.stages + stage);
      case kGather:
        return over_replicas(0.5, unit_elements(operation) * gathered_bytes_,
                             input_.stages + stage);
      case kReduceRows:
        return over_replicas(
            1, rows() * static_cast<double>(input_.model.hidden_size) * reduced_bytes_, stage);
      case kReduceNorm:
      case kReduceOverflow: {
        // A number, over the replicas and then over the stages.
        OperationCost cost = over_replicas(1, sizeof(double), stage);
        if (input_.stages == 1) return cost;
        cost.latency += plan::all_reduce_seconds(input_.network, sizeof(double), input_.stages);
        cost.meets = 2 * input_.stages;
        return cost;
      }
      default:
        return over_replicas(1, 0, stage);
    }
  }
  double unit_elements(const Operation& operation) const {
    const int unit = input_.plan.schedule.units[static_cast<size_t>(operation.object)];
    return static_cast<double>(units_[static_cast<size_t>(unit)].size());
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
    const double bytes = tokens_ * static_cast<double>(input_.model.hidden_size) * gathered_bytes_;
    return {bytes / link.bytes_per_second, link.latency + input_.device.message_seconds, number};
  }

  const CostInput& input_;
  BlockFlops flops_;
  double tokens_ = 0;  // of a micro-batch
  double reduced_bytes_ = 0, gathered_bytes_ = 0;
  std::vector<Range> units_;  // empty: all weights are in memory
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

std::vector<OperationCost> operation_costs(const CostInput& input) { return Costs(input).all(); }

}  // namespace strata::bench
