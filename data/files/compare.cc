#include "data/files/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text/counts.h"
#include "data/text/hash.h"

namespace strata::data {
namespace {

constexpr uint32_t kComparedAtATime = 1024;

std::optional<std::string> difference(const char* what, const std::vector<int32_t>& a,
                                      const std::vector<int32_t>& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  if (in_a == a.end() || in_b == b.end()) {
    return fmt::format("the numbers of {} are {} and {}", what, a.size(), b.size());
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

uint64_t hash_of_sample(const PackedBatch& sample) {
  std::string bytes;
  for (const auto* values : {&sample.tokens, &sample.segments, &sample.masked_positions,
                             &sample.masked_ids, &sample.next_sentence}) {
    const uint64_t size = values->size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes.append(reinterpret_cast<const char*>(values->data()), size * sizeof(int32_t));
  }
  return fingerprint(bytes);
}

// Returns the hashes of all samples with the samples' numbers, sorted.
std::vector<std::pair<uint64_t, uint32_t>> sorted_hashes(const InstanceSource& source) {
  std::vector<std::pair<uint64_t, uint32_t>> hashes;
  hashes.reserve(source.size());
  PackedBatch sample;
  for (uint32_t i = 0; i < source.size(); ++i) {
    source.read(std::span(&i, 1), sample);
    hashes.emplace_back(hash_of_sample(sample), i);
  }
  std::ranges::sort(hashes);
  return hashes;
}

void count_sample(uint32_t sample, uint64_t& count, std::optional<uint32_t>& first) {
  ++count;
  first = std::min(first.value_or(sample), sample);
}

}  // namespace

ContentDifference compare_content(const InstanceSource& a, const InstanceSource& b) {
  const auto in_a = sorted_hashes(a), in_b = sorted_hashes(b);
  ContentDifference found;
  auto at_a = in_a.begin(), at_b = in_b.begin();
  while (at_a != in_a.end() || at_b != in_b.end()) {
    if (at_b == in_b.end() || (at_a != in_a.end() && at_a->first < at_b->first)) {
      count_sample(at_a++->second, found.only_in_a, found.first_only_in_a);
    } else if (at_a == in_a.end() || at_b->first < at_a->first) {
      count_sample(at_b++->second, found.only_in_b, found.first_only_in_b);
    } else {
      ++at_a, ++at_b;
    }
  }
  return found;
}

std::string to_text(const ContentDifference& found, const InstanceSource& a) {
  if (found.is_none())
    return fmt::format("the same {} in another order", counted(a.size(), "sample"));
  const auto only = [](uint64_t count, const std::optional<uint32_t>& first) {
    return count == 0 ? "none"
                      : fmt::format("{}, beginning with sample {}", count_text(count), *first);
  };
  return fmt::format("only in the first: {}; only in the second: {}; in both: {}",
                     only(found.only_in_a, found.first_only_in_a),
                     only(found.only_in_b, found.first_only_in_b),
                     count_text(a.size() - found.only_in_a));
}

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
  return fmt::format("one has {} and the other {}; the first {} are the same",
                     counted(a.size(), "sample"), count_text(b.size()), count_text(common));
}

}  // namespace strata::data
