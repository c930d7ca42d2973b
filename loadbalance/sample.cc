#include "loadbalance/sample.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace strata::loadbalance {

std::vector<Sample> samples_of(std::span<const int32_t> lengths) {
  constexpr int32_t kLongest = std::numeric_limits<uint16_t>::max();
  std::vector<Sample> samples(lengths.size());
  for (size_t sample = 0; sample < lengths.size(); ++sample) {
    if (lengths[sample] < 1 || lengths[sample] > kLongest) {
      fail("sample {} has {} tokens: lengths from 1 to {} can be planned", sample, lengths[sample],
           kLongest);
    }
    samples[sample] = {static_cast<uint32_t>(sample), static_cast<uint32_t>(lengths[sample])};
  }
  return samples;
}

void write_numbers(std::span<const Sample> samples, std::span<uint32_t> numbers) {
  std::transform(samples.begin(), samples.end(), numbers.begin(),
                 [](const Sample& sample) { return sample.number; });
}

}  // namespace strata::loadbalance
