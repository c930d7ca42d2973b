#include "comm/buckets/bucket_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace strata::comm {

using device::GradientClip;
using device::Stream;
using device::Tensor;

BucketArithmetic::BucketArithmetic(device::Backend& backend, const Communicator& communicator,
                                   const BucketPlan& plan, const device::Arena& gradients,
                                   const BucketOptions& options)
    : backend_(backend),
      communicator_(communicator),
      plan_(plan),
      gradients_(gradients),
      options_(options),
      all_buckets_(plan.count()),
      norms_(backend, (plan.buckets.size() + 2) * sizeof(double)),
      host_norms_(backend, norms_.bytes()) {
  if (options.parts) options.parts->all_reduce_sum(std::span(&all_buckets_, 1));
  if (plan.rounds == 1) return;
  int64_t largest = 0;
  for (const Range& bucket : plan.buckets) {
    largest = std::max(largest, local_shard(bucket, communicator).size());
  }
  sum_.emplace(backend, largest);
}

size_t BucketArithmetic::staging_bytes() const {
  int64_t largest = 0;
  for (const Range& bucket : plan_.buckets) largest = std::max(largest, bucket.size());
  return static_cast<size_t>(largest) * size_of(options_.reduce_dtype);
}

Tensor BucketArithmetic::reduce_buffer(int bucket, void* staging) const {
  if (!plan_.converts) return gradients(bucket_range(bucket));
  return {staging, options_.reduce_dtype, 1, bucket_range(bucket).size()};
}

ClipNorms BucketArithmetic::norms() const {
  return {.whole = whole_norm_squared(),
          .buckets = norms_.as<double>(),
          .max_norm = options_.max_norm * loss_scale_,
          .all_buckets = all_buckets_,
          .ranks = plan_.ranks};
}

void BucketArithmetic::norm(int bucket, bool whole) {
  double* const norm = whole ? whole_norm_squared() : norms_.as<double>() + bucket;
  if (!whole || bucket == 0) backend_.fill_zero(Stream::kReduce, norm, sizeof(double));
  add_norm(gradients(bucket_range(bucket)), norm);
}

void BucketArithmetic::clip_and_cast(int bucket, void* staging) {
  if (plan_.single_rank()) return;
  const Tensor own = gradients(bucket_range(bucket));
  const Tensor reduced = plan_.converts ? reduce_buffer(bucket, staging) : Tensor();
  if (plan_.rule->clips_own()) {
    // Clips and casts in one pass.
    const GradientClip clip = plan_.rule->own_clip(norms(), bucket);
    backend_.clip_to_norm(Stream::kReduce, {.x = own,
                                            .norm_squared = clip.norm_squared,
                                            .max_norm = clip.max_norm,
                                            .destination = reduced});
  } else if (plan_.converts) {
    backend_.convert(Stream::kReduce, {.source = own, .destination = reduced});
  }
}

// Each rank computes only the norm of its own shard. The all-reduced sum of these norms has the
// same bits on every rank, even if devices add in different orders.
void BucketArithmetic::cast_back(int bucket, int round, void* staging) {
  const Range range = updated_range(bucket);
  const bool first = round == 0;
  if (plan_.converts) {
    const int64_t begin = range.begin - bucket_range(bucket).begin;
    backend_.convert(Stream::kReduce, {.source = elements_of(reduce_buffer(bucket, staging),
                                                             {begin, begin + range.size()}),
                                       .destination = first ? sums(range) : gradients(range)});
  } else if (first && plan_.keeps_shards && range.size() > 0) {
    backend_.convert(Stream::kReduce, {.source = gradients(range), .destination = sums(range)});
  }
  if (!first && range.size() > 0) sum_->add(Stream::kReduce, gradients(range), sums(range));
  double* const norm = norm_of_sums();
  if (norm && round + 1 == plan_.rounds) {
    if (bucket == 0) backend_.fill_zero(Stream::kReduce, norm, sizeof(double));
    if (bucket >= plan_.table_buckets) {
      add_norm(sums(local_shard(bucket_range(bucket), communicator_)), norm);
    }
  }
}

double* BucketArithmetic::norm_of_sums() const {
  if (plan_.rule->norms_sums()) return whole_norm_squared();
  // Gradients that were clipped by a finite norm are finite, unless they are reduced in a narrower
  // type.
  const bool checked =
      !plan_.rule->clips_own() || (plan_.converts && options_.reduce_dtype == device::DType::kF16);
  return plan_.scaled_loss && checked ? checked_norm_squared() : nullptr;
}

void BucketArithmetic::add_table_norm() {
  double* const norm = norm_of_sums();
  for (int bucket = 0; norm && bucket < plan_.table_buckets; ++bucket) {
    add_norm(sums(local_shard(bucket_range(bucket), communicator_)), norm);
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
  const ClipRule& rule = *plan_.rule;
  GradientClip clip = rule.clips_own() && plan_.single_rank() ? rule.own_clip(norms(), bucket)
                                                              : rule.update_clip(norms());
  clip.scale = 1.0f / static_cast<float>(plan_.ranks) / loss_scale_;
  return {.range = updated_range(bucket), .clip = clip};
}

Tensor BucketArithmetic::gathered_weights(int bucket) const {
  return elements_of(options_.gathered_weights, bucket_range(bucket));
}

std::optional<double> BucketArithmetic::gradient_norm() {
  if (options_.clip == ClipMode::kNone) return std::nullopt;
  std::vector<double> norms = read_norms();
  const double whole = norms[plan_.buckets.size()];
  norms.resize(plan_.buckets.size());
  const auto norm = plan_.rule->gradient_norm(whole, norms, plan_.ranks, options_.parts);
  return norm ? std::optional(*norm / loss_scale_) : std::nullopt;
}

Tensor BucketArithmetic::sums(const Range& range) const {
  return elements_of(plan_.keeps_shards ? options_.gradient_shards : gradients_, range);
}

Range BucketArithmetic::updated_range(int bucket) const {
  return plan_.sharded() ? local_shard(bucket_range(bucket), communicator_) : bucket_range(bucket);
}

void BucketArithmetic::add_norm(const Tensor& x, double* norm_squared) {
  if (x.size() == 0) return;
  backend_.l2_norm_squared(Stream::kReduce, {.x = x, .norm_squared = norm_squared});
}

}  // namespace strata::comm
