#include "loadbalance/sample.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::loadbalance {

SamplesByLength::SamplesByLength(std::span<const LengthCount> histogram) {
  constexpr int kLongest = std::numeric_limits<uint16_t>::max();
  std::vector<uint64_t> counts;
  for (const LengthCount& entry : histogram) {
    if (entry.length < 1 || entry.length > kLongest || entry.weight < 0) {
      fail("{} of {}: lengths from 1 to {} can be planned", counted(entry.weight, "sample"),
           counted(entry.length, "token"), count_text(kLongest));
    }
    if (entry.weight == 0) continue;
    const auto length = static_cast<uint32_t>(entry.length);
    if (!lengths_.empty() && length <= lengths_.back()) {
      fail("the lengths of a histogram must increase, but {} follows {}", length, lengths_.back());
    }
    lengths_.push_back(length);
    counts.push_back(static_cast<uint64_t>(entry.weight));
  }
  counts_ = CumulativeCounts(counts);
  if (lengths_.empty()) fail("a plan needs at least one sample");
  if (counts_.total() > std::numeric_limits<uint32_t>::max()) {
    fail("{}: a plan holds at most {}", counted(counts_.total(), "sample"),
         count_text(std::numeric_limits<uint32_t>::max()));
  }
}

uint32_t SamplesByLength::up_to(uint32_t length) const {
  const auto kind = std::upper_bound(lengths_.begin(), lengths_.end(), length) - lengths_.begin();
  return static_cast<uint32_t>(counts_.before(static_cast<size_t>(kind)));
}

void write_numbers(std::span<const Sample> samples, std::span<uint32_t> numbers) {
  std::transform(samples.begin(), samples.end(), numbers.begin(),
                 [](const Sample& sample) { return sample.number; });
}

}  // namespace strata::loadbalance
