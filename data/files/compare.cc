#include "data/files/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace strata::data {
namespace {

constexpr uint32_t kComparedAtATime = 1024;

std::optional<std::string> difference(const char* what, const std::vector<int32_t>& a,
                                      const std::vector<int32_t>& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  if (in_a == a.end() || in_b == b.end()) {
    return fmt::format("{} are {} and {}", what, a.size(), b.size());
  }
  return fmt::format("{} differ at {}: {} and {}", what, in_a - a.begin(), *in_a, *in_b);
}

std::optional<std::string> difference(const PackedBatch& a, const PackedBatch& b) {
  if (auto found = difference("tokens", a.tokens, b.tokens)) return found;
  if (auto found = difference("segments", a.segments, b.segments)) return found;
  if (auto found = difference("masked positions", a.masked_positions, b.masked_positions)) {
    return found;
  }
  if (auto found = difference("masked tokens", a.masked_ids, b.masked_ids)) return found;
  return difference("next-sentence labels", a.next_sentence, b.next_sentence);
}

bool is_equal(const PackedBatch& a, const PackedBatch& b) {
  return a.cu_seqlens == b.cu_seqlens && !difference(a, b);
}

}  // namespace

std::optional<std::string> first_difference(const InstanceSource& a, const InstanceSource& b) {
  const uint32_t common = std::min(a.size(), b.size());
  PackedBatch from_a, from_b;
  const auto read = [&](uint32_t first, uint32_t count) {
    std::vector<uint32_t> samples(count);
    std::iota(samples.begin(), samples.end(), first);
    a.read(samples, from_a);
    b.read(samples, from_b);
  };
  for (uint32_t first = 0; first < common; first += kComparedAtATime) {
    const uint32_t count = std::min(kComparedAtATime, common - first);
    read(first, count);
    if (is_equal(from_a, from_b)) continue;
    for (uint32_t sample = first; sample < first + count; ++sample) {
      read(sample, 1);
      if (const auto found = difference(from_a, from_b)) {
        return fmt::format("sample {}: {}", sample, *found);
      }
    }
  }
  if (a.size() == b.size()) return std::nullopt;
  return fmt::format("the first {} samples are the same, but there are {} and {}", common, a.size(),
                     b.size());
}

}  // namespace strata::data
