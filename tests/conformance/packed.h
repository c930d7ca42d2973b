// Packed batches of sequence lengths that tend to break kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata::device {

struct Packed {
  explicit Packed(std::vector<int32_t> lengths);

  int64_t tokens() const { return cu_seqlens.back(); }
  std::string description() const;  // for example "lengths 1 512 2"

  std::vector<int32_t> lengths;
  std::vector<int32_t> cu_seqlens = {0};
  std::vector<uint64_t> sample_ids;  // all 64 bits in use
  std::vector<int32_t> positions;    // position of every token in its sequence
  int32_t max_length = 0;
};

// Returns these batches: one token; one sequence; 128 + 1; the shortest among the longest; a
// mixture; one whose last sequence is empty. With few_shapes(), returns only a single sequence and
// a batch whose last sequence is empty.
std::vector<Packed> packed_batches();

// True if the environment requests few and small shapes (STRATA_CONFORMANCE_SHAPES=few), because
// compute-sanitizer and the emulated GPU are slow.
bool few_shapes();

}  // namespace strata::device
