#include "comm/buckets/sharding/weight_gatherer.h"

#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "comm/buckets/bucket_options.h"
#include "comm/collectives.h"

namespace strata::comm {
namespace {

using device::Stream;
using device::Tensor;

// One bucket of a gather group.
struct Part {
  Tensor kept;   // this rank's shard
  Tensor place;  // position of the shard in the bucket
  Tensor whole;
};

// [gather groups]
using Parts = std::vector<std::vector<Part>>;

Parts parts_of(const Communicator& communicator, const device::Arena& shards,
               const device::Arena& groups, const std::vector<Range>& buckets) {
  Parts parts;
  size_t found = 0;
  for (const device::Arena::Run& group : groups.runs()) {
    std::vector<Part>& of_group = parts.emplace_back();
    for (const Range& bucket : buckets) {
      if (bucket.begin < group.range.begin || bucket.end > group.range.end) continue;
      const Range shard = local_shard(bucket, communicator);
      of_group.push_back(
          {elements_of(shards, shard), elements_of(groups, shard), elements_of(groups, bucket)});
      ++found;
    }
  }
  if (found != buckets.size())
    fail("weights: a bucket to gather lies in more than one gather group");
  return parts;
}

class GroupGatherer final : public WeightGatherer {
 public:
  GroupGatherer(device::Backend& backend, Communicator& communicator, Parts parts, int max_ctas)
      : backend_(backend),
        on_host_(backend.memory_is_host()),
        communicator_(communicator.duplicate()),
        collectives_(on_host_
                         ? make_host_collectives(*communicator_)
                         : make_collectives(*communicator_, backend, Stream::kReduce, max_ctas)),
        parts_(std::move(parts)) {
    if (!on_host_) connect();
  }
  // See ~BucketWork.
  ~GroupGatherer() override {
    if (on_host_) return;
    if (std::uncaught_exceptions() > 0) {
      collectives_.reset();
      return;
    }
    try {
      backend_.synchronize(Stream::kReduce);
    } catch (...) {
      // The next user of the device meets its error again.
    }
  }

  void gather(int group) override {
    for (const Part& part : parts_[static_cast<size_t>(group)]) {
      if (on_host_) {
        std::memcpy(part.place.data, part.kept.data, part.kept.bytes());
      } else if (part.kept.size() > 0) {
        backend_.convert(Stream::kReduce, {.source = part.kept, .destination = part.place});
      }
      collectives_->all_gather(part.whole.data, part.whole.size(), part.whole.dtype);
    }
  }

 private:
  // Collective libraries connect when a collective is first used.
  void connect() {
    for (const std::vector<Part>& group : parts_) {
      for (const Part& part : group) {
        collectives_->all_gather(part.whole.data, part.whole.size(), part.whole.dtype);
      }
    }
    backend_.synchronize(Stream::kReduce);
  }

  device::Backend& backend_;
  const bool on_host_;
  const std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<device::Collectives> collectives_;
  const Parts parts_;
};

}  // namespace

std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& groups, const std::vector<Range>& buckets, int max_ctas) {
  return std::make_unique<GroupGatherer>(backend, communicator,
                                         parts_of(communicator, shards, groups, buckets), max_ctas);
}

}  // namespace strata::comm
