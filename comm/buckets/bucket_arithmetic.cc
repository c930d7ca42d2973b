#include "comm/buckets/bucket_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace strata::comm {

using device::GradientClip;
using device::Stream;
using device::Tensor;

namespace {

int count_in(const Range& table, const std::vector<Range>& buckets) {
  return static_cast<int>(std::ranges::count_if(buckets, [&](const Range& bucket) {
    return table.begin <= bucket.begin && bucket.end <= table.end;
  }));
}

}  // namespace

BucketArithmetic::BucketArithmetic(device::Backend& backend, const Communicator& communicator,
                                   const device::Arena& gradients,
                                   std::span<const int64_t> boundaries,
                                   const BucketOptions& options)
    : backend_(backend),
      communicator_(communicator),
      gradients_(gradients),
      options_(options),
      buckets_(make_buckets(boundaries, options)),
      table_buckets_(count_in(options.late_rows.table, buckets_)),
      all_buckets_(std::ssize(buckets_)),
      norms_(backend, (buckets_.size() + 2) * sizeof(double)),
      host_norms_(backend, norms_.bytes()) {
  if (boundaries.back() != gradients.size()) {
    fail("bucket boundaries end at {}, the gradients at {}", boundaries.back(), gradients.size());
  }
  if (options.clip != ClipMode::kNone && !(options.max_norm > 0)) {
    fail("max_norm is {}: clipping needs a norm above 0", options.max_norm);
  }
  if (options.gathered_weights && options.gathered_weights.size() != gradients.size()) {
    fail("{} weights to gather for {} gradients: they must be equally many",
         options.gathered_weights.size(), gradients.size());
  }
  if (options.parts) options.parts->all_reduce_sum(std::span(&all_buckets_, 1));
  if (options.gradient_shards && options.clip == ClipMode::kBeforeAllReduce) {
    fail("gradients clipped by their norm before any is reduced: no part of them can go early");
  }
  if (options.rounds == 1) return;
  if (!options.gradient_shards || alone() || options.clip == ClipMode::kBucketBeforeAllReduce) {
    fail("gradients reduced {} times a step: there are no sums that shards of them can be added to",
         options.rounds);
  }
  int64_t largest = 0;
  for (const Range& bucket : buckets_) {
    largest = std::max(largest, local_shard(bucket, communicator).size());
  }
  sum_.emplace(backend, largest);
}

size_t BucketArithmetic::staging_bytes() const {
  int64_t largest = 0;
  for (const Range& bucket : buckets_) largest = std::max(largest, bucket.size());
  return static_cast<size_t>(largest) * size_of(options_.reduce_dtype);
}

void BucketArithmetic::local_norm(int bucket) {
  if (bucket == 0) backend_.fill_zero(Stream::kReduce, clip_norm_squared(), sizeof(double));
  add_norm(gradients(buckets_[bucket]), clip_norm_squared());
}

Tensor BucketArithmetic::clip_and_cast(int bucket, void* staging) {
  const Tensor data = reduce_buffer(bucket, staging);
  if (options_.clip == ClipMode::kBucketBeforeAllReduce) {
    backend_.fill_zero(Stream::kReduce, norm_squared(bucket), sizeof(double));
    add_norm(gradients(buckets_[bucket]), norm_squared(bucket));
  }
  if (clips_own() && !alone()) {
    // In one pass with the cast, where there is one.
    const GradientClip own = own_clip(bucket);
    backend_.clip_to_norm(Stream::kReduce, {.x = gradients(buckets_[bucket]),
                                            .norm_squared = own.norm_squared,
                                            .max_norm = own.max_norm,
                                            .destination = converts() ? data : Tensor()});
  } else if (converts()) {
    backend_.convert(Stream::kReduce, {.source = gradients(buckets_[bucket]), .destination = data});
  }
  return data;
}

GradientClip BucketArithmetic::own_clip(int bucket) const {
  if (options_.clip == ClipMode::kBeforeAllReduce) {
    return {.norm_squared = clip_norm_squared(), .max_norm = options_.max_norm * loss_scale_};
  }
  return {
      .norm_squared = norm_squared(bucket),
      .max_norm = options_.max_norm * loss_scale_ / std::sqrt(static_cast<float>(all_buckets_))};
}

// Each rank norms its own shard; adding the norms gives every rank the same bits, however its
// device adds them up.
void BucketArithmetic::cast_back(int bucket, int round, void* staging) {
  const Range range = updated_range(bucket);
  const bool first = round == 0;
  if (converts()) {
    const int64_t begin = range.begin - buckets_[bucket].begin;
    backend_.convert(Stream::kReduce, {.source = elements_of(reduce_buffer(bucket, staging),
                                                             {begin, begin + range.size()}),
                                       .destination = first ? sums(range) : gradients(range)});
  } else if (first && keeps_shards() && range.size() > 0) {
    backend_.convert(Stream::kReduce, {.source = gradients(range), .destination = sums(range)});
  }
  if (!first && range.size() > 0) sum_->add(Stream::kReduce, gradients(range), sums(range));
  double* const norm = norm_of_sums();
  if (norm && round + 1 == rounds()) {
    if (bucket == 0) backend_.fill_zero(Stream::kReduce, norm, sizeof(double));
    if (bucket >= table_buckets_)
      add_norm(sums(local_shard(buckets_[bucket], communicator_)), norm);
  }
}

double* BucketArithmetic::norm_of_sums() const {
  if (options_.clip == ClipMode::kAfterAllReduce) return clip_norm_squared();
  // What was clipped by its norm is finite if that is, unless it is reduced in a narrower type.
  const bool checked = options_.clip == ClipMode::kNone ||
                       (converts() && options_.reduce_dtype == device::DType::kF16);
  return options_.scaled_loss && checked ? checked_norm_squared() : nullptr;
}

void BucketArithmetic::add_table_norm() {
  double* const norm = norm_of_sums();
  for (int bucket = 0; norm && bucket < table_buckets_; ++bucket) {
    add_norm(sums(local_shard(buckets_[bucket], communicator_)), norm);
  }
}

bool BucketArithmetic::overflowed() {
  return !std::ranges::all_of(read_norms(), [](double norm) { return std::isfinite(norm); });
}

std::vector<double> BucketArithmetic::read_norms() {
  const double* const norms = host_norms_.as<double>();
  backend_.copy_to_host(Stream::kReduce, host_norms_.as<double>(), norms_.data(), norms_.bytes());
  backend_.synchronize(Stream::kReduce);
  return {norms, norms + norms_.bytes() / sizeof(double)};
}

ReducedGradients BucketArithmetic::reduced(int bucket) const {
  const auto ranks = static_cast<float>(communicator_.size());
  const Range range = updated_range(bucket);
  GradientClip clip;
  if (options_.clip == ClipMode::kAfterAllReduce) {
    clip = {.norm_squared = clip_norm_squared(),
            .max_norm = options_.max_norm * ranks * loss_scale_};
  } else if (clips_own() && alone()) {
    clip = own_clip(bucket);
  }
  clip.scale = 1.0f / ranks / loss_scale_;
  return {.range = range, .clip = clip};
}

Tensor BucketArithmetic::gathered_weights(int bucket) const {
  return elements_of(options_.gathered_weights, buckets_[bucket]);
}

std::optional<double> BucketArithmetic::gradient_norm() {
  if (options_.clip == ClipMode::kNone) return std::nullopt;
  std::vector<double> norms = read_norms();
  const double all = norms[buckets_.size()];
  norms.resize(buckets_.size());
  switch (options_.clip) {
    case ClipMode::kBucketBeforeAllReduce: {
      double sum = 0;
      for (const double norm : norms) sum += norm;
      if (options_.parts) options_.parts->all_reduce_sum(&sum, 1, device::DType::kF64);
      return std::sqrt(sum) / loss_scale_;
    }
    case ClipMode::kAfterAllReduce:
      return std::sqrt(all) / communicator_.size() / loss_scale_;
    default:
      return std::sqrt(all) / loss_scale_;
  }
}

Tensor BucketArithmetic::gradients(const Range& range) const {
  return elements_of(gradients_, range);
}

Tensor BucketArithmetic::sums(const Range& range) const {
  return elements_of(keeps_shards() ? options_.gradient_shards : gradients_, range);
}

Tensor BucketArithmetic::reduce_buffer(int bucket, void* staging) const {
  if (!converts()) return gradients(buckets_[bucket]);
  return {staging, options_.reduce_dtype, 1, buckets_[bucket].size()};
}

Range BucketArithmetic::updated_range(int bucket) const {
  return sharded() ? local_shard(buckets_[bucket], communicator_) : buckets_[bucket];
}

void BucketArithmetic::add_norm(const Tensor& x, double* norm_squared) {
  if (x.size() == 0) return;
  backend_.l2_norm_squared(Stream::kReduce, {.x = x, .norm_squared = norm_squared});
}

}  // namespace strata::comm
