#include "data/loading/shared_samples.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/files/packed_batch.h"
#include "data/text/hash.h"

namespace strata::data {
namespace {

uint64_t fingerprint_of(std::span<const int32_t> values, uint64_t hash) {
  return hash_text({reinterpret_cast<const char*>(values.data()), values.size_bytes()}, hash);
}

// Calls visit(sample index, fingerprint) for `count` samples: 0, `stride`, 2 `stride`, ...
template <typename Visit>
void visit_fingerprints(const InstanceSource& source, uint64_t count, uint64_t stride,
                        const Visit& visit) {
  constexpr uint64_t kReadAtOnce = 1024;
  PackedBatch batch;
  std::vector<uint32_t> indices;
  std::vector<int32_t> positions;
  for (uint64_t begin = 0; begin < count; begin += kReadAtOnce) {
    indices.clear();
    for (uint64_t i = begin; i < std::min(begin + kReadAtOnce, count); ++i) {
      indices.push_back(static_cast<uint32_t>(i * stride));
    }
    source.read(indices, batch);
    auto masked = batch.masked_positions.begin();
    for (size_t i = 0; i < indices.size(); ++i) {
      const int32_t first = batch.cu_seqlens[i], last = batch.cu_seqlens[i + 1];
      const auto length = static_cast<size_t>(last - first);
      const auto end = std::lower_bound(masked, batch.masked_positions.end(), last);
      positions.clear();
      for (auto at = masked; at != end; ++at) positions.push_back(*at - first);
      const std::span ids =
          std::span(batch.masked_ids)
              .subspan(static_cast<size_t>(masked - batch.masked_positions.begin()),
                       positions.size());
      uint64_t hash = fingerprint_of(
          std::span(batch.tokens).subspan(static_cast<size_t>(first), length), fingerprint({}));
      hash = fingerprint_of(std::span(batch.segments).subspan(static_cast<size_t>(first), length),
                            hash);
      visit(indices[i], fingerprint_of(ids, fingerprint_of(positions, hash)));
      masked = end;
    }
  }
}

}  // namespace

SharedSamples find_shared_samples(const InstanceSource& train, const InstanceSource& evaluation,
                                  int64_t evaluation_samples, uint32_t most_training_samples) {
  struct Alike {
    uint32_t first = 0;
    uint64_t count = 0;
  };
  std::unordered_map<uint64_t, Alike> evaluated;
  visit_fingerprints(evaluation, static_cast<uint64_t>(evaluation_samples), 1,
                     [&](uint32_t index, uint64_t hash) {
                       const auto [alike, is_new] = evaluated.try_emplace(hash, Alike{index, 0});
                       ++alike->second.count;
                     });
  const uint64_t stride = (uint64_t{train.size()} + most_training_samples - 1) /
                          std::max<uint64_t>(most_training_samples, 1);
  SharedSamples result{.compared = (uint64_t{train.size()} + stride - 1) / stride};
  visit_fingerprints(train, result.compared, stride, [&](uint32_t index, uint64_t hash) {
    const auto found = evaluated.find(hash);
    if (found == evaluated.end()) return;
    if (result.shared == 0) {
      result.train = index;
      result.evaluation = found->second.first;
    }
    result.shared += found->second.count;
    evaluated.erase(found);
  });
  return result;
}

}  // namespace strata::data
