#include "comm/buckets/bucket_work.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "comm/collectives.h"

namespace strata::comm {

using device::Stream;
using device::Tensor;

BucketWork::BucketWork(device::Backend& backend, Communicator& communicator, const BucketPlan& plan,
                       const device::Arena& gradients, const BucketOptions& options,
                       BucketUpdate update, DeferredUpdate deferred_update)
    : backend_(backend),
      plan_(plan),
      communicator_(communicator.duplicate()),
      gather_communicator_(plan.gathers && plan.on_host ? communicator.duplicate() : nullptr),
      parts_(options.parts ? options.parts->duplicate() : nullptr),
      update_(std::move(update)),
      deferred_update_(std::move(deferred_update)),
      arithmetic_(backend, *communicator_, plan, gradients, options) {
  if (options.accumulation.in_bf16 && !plan.on_host) {
    fail("{}: sums in bf16 need a backend in host memory; set reduce.accumulate to fp32",
         backend.name());
  }
  communicator_->accumulate(options.accumulation);
  if (plan.has_tied_rows) {
    rows_.emplace(backend, *communicator_, elements_of(gradients, options.tied_rows.table),
                  options.tied_rows.sparse, options.reduce_dtype);
  }
  make_collectives(options);
  const int buffers = plan.converts ? std::min(plan.in_flight(), plan.count()) : 0;
  for (int i = 0; i < buffers; ++i) {
    staging_.emplace_back(backend, arithmetic_.staging_bytes());
  }
}

void BucketWork::make_collectives(const BucketOptions& options) {
  if (plan_.on_host) {
    if (!plan_.single_rank()) collectives_ = make_host_collectives(*communicator_);
    if (gather_communicator_) gather_collectives_ = make_host_collectives(*gather_communicator_);
    if (parts_) norm_collectives_ = make_host_collectives(*parts_);
    return;
  }
  if (!plan_.single_rank()) {
    collectives_ =
        comm::make_collectives(*communicator_, backend_, Stream::kReduce, options.max_ctas);
    connect(options.reduce_dtype, options.gathered_weights.dtype);
  }
  if (parts_) {
    norm_collectives_ = comm::make_collectives(*parts_, backend_, Stream::kReduce);
    norm_collectives_->all_reduce_sum(arithmetic_.whole_norm_squared(), 1, device::DType::kF64);
    backend_.synchronize(Stream::kReduce);
  }
}

// After an error the streams may wait for ranks that never come. Destroying the communicator then
// ends the wait.
BucketWork::~BucketWork() {
  if (plan_.on_host) return;
  if ((collectives_ || norm_collectives_) && std::uncaught_exceptions() > 0) {
    collectives_.reset();
    norm_collectives_.reset();
    return;
  }
  try {
    backend_.synchronize(Stream::kReduce);
    backend_.synchronize(Stream::kCompute);
  } catch (...) {
    // The next user of the device meets its error again.
  }
}

// Collective libraries connect when a collective and a size are first used. The constructor runs
// them on zeros, so that the first step does not pay for it.
void BucketWork::connect(device::DType reduced, device::DType gathered) {
  const auto sizes = std::ranges::minmax(plan_.buckets, {}, &Range::size);
  const auto widest = std::max({size_of(reduced), size_of(gathered), sizeof(double)});
  const int64_t most = std::max(sizes.max.size(), deferred_update_.sums.size());
  const device::Buffer zeros(backend_, static_cast<size_t>(most) * widest);
  for (const int64_t size : {sizes.min.size(), sizes.max.size()}) {
    if (plan_.sharded()) {
      collectives_->reduce_scatter_sum(zeros.data(), size, reduced);
      if (plan_.gathers) collectives_->all_gather(zeros.data(), size, gathered);
    } else {
      collectives_->all_reduce_sum(zeros.data(), size, reduced);
    }
  }
  if (plan_.rule->norms_sums()) {
    collectives_->all_reduce_sum(zeros.data(), 1, device::DType::kF64);
  }
  if (plan_.defers) {
    collectives_->all_reduce_sum(zeros.data(), deferred_update_.sums.size(), device::DType::kF64);
  }
  backend_.synchronize(Stream::kReduce);
}

void* BucketWork::staging(int reduction) const {
  if (staging_.empty()) return nullptr;
  return staging_[static_cast<size_t>(reduction) % staging_.size()].data();
}

void BucketWork::reduce(int reduction) {
  const Tensor data = arithmetic_.reduce_buffer(bucket_of(reduction), staging(reduction));
  if (plan_.sharded()) {
    collectives_->reduce_scatter_sum(data.data, data.size(), data.dtype);
  } else {
    collectives_->all_reduce_sum(data.data, data.size(), data.dtype);
  }
}

void BucketWork::cast_back(int reduction) {
  arithmetic_.cast_back(bucket_of(reduction), reduction / plan_.count(), staging(reduction));
}

void BucketWork::reduce_norm(bool over_ranks) {
  double* const norm = arithmetic_.whole_norm_squared();
  if (over_ranks) collectives_->all_reduce_sum(norm, 1, device::DType::kF64);
  if (parts_) norm_collectives_->all_reduce_sum(norm, 1, device::DType::kF64);
}

void BucketWork::add_rows() {
  rows_->add();
  arithmetic_.add_table_norm();
}

void BucketWork::reduce_overflow() {
  communicator_->all_reduce_max(std::span(&overflow_, 1));
  if (parts_) parts_->all_reduce_max(std::span(&overflow_, 1));
}

void BucketWork::apply(const BucketUpdate& update, int bucket) {
  ReducedGradients reduced = arithmetic_.reduced(bucket);
  if (!plan_.on_host) reduced.stream = Stream::kCompute;
  if (reduced.range.size() > 0 && !overflowed()) update(reduced);
}

void BucketWork::reduce_sums() {
  const Tensor& sums = deferred_update_.sums;
  collectives_->all_reduce_sum(sums.data, sums.size(), sums.dtype);
}

void BucketWork::gather(int bucket) {
  const Tensor weights = arithmetic_.gathered_weights(bucket);
  device::Collectives& gathers = gather_collectives_ ? *gather_collectives_ : *collectives_;
  gathers.all_gather(weights.data, weights.size(), weights.dtype);
}

}  // namespace strata::comm
