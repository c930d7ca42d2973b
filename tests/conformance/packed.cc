#include "tests/conformance/packed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "device/operations/dropout.h"

namespace strata::device {

Packed::Packed(std::vector<int32_t> lengths_) : lengths(std::move(lengths_)) {
  for (const int32_t length : lengths) {
    sample_ids.push_back(splitmix64(sample_ids.size() + 1));
    cu_seqlens.push_back(cu_seqlens.back() + length);
    for (int32_t position = 0; position < length; ++position) positions.push_back(position);
    max_length = std::max(max_length, length);
  }
}

std::string Packed::description() const {
  return fmt::format("lengths {}", fmt::join(lengths, " "));
}

bool few_shapes() {
  const char* shapes = std::getenv("STRATA_CONFORMANCE_SHAPES");
  return shapes && std::string_view(shapes) == "few";
}

std::vector<Packed> packed_batches() {
  if (few_shapes()) return {Packed({37}), Packed({30, 65, 0})};
  return {Packed({1}),
          Packed({37}),
          Packed({128, 1}),
          Packed({1, 512, 2}),
          Packed({5, 1, 17, 64, 1, 30, 11}),
          Packed({30, 65, 0})};
}

}  // namespace strata::device
