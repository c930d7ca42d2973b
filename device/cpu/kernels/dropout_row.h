// Dropout factors of a whole row at once: the Philox stream of device/dropout.h, 16 counters
// abreast.
#pragma once

#include "device/cpu/kernels/math.h"

namespace strata::device::cpu {
namespace {

// factors[c] = 0 or keep_scale for c < columns; writes up to the next multiple of 128.
inline void dropout_row(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                        float* __restrict factors) {
  constexpr int kLanes = 16;
  const uint32_t threshold = dropout.threshold();
  const float keep = dropout.keep_scale();
  for (int64_t base = 0; base < columns; base += kLanes * 8) {
    alignas(64) uint32_t words[4][kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t c0 = static_cast<uint32_t>(base / 8 + lane), c1 = row;
      uint32_t c2 = static_cast<uint32_t>(sample_id), c3 = static_cast<uint32_t>(sample_id >> 32);
      uint32_t k0 = static_cast<uint32_t>(dropout.key),
               k1 = static_cast<uint32_t>(dropout.key >> 32);
      for (int round = 0; round < 10; ++round) {
        const uint64_t product0 = uint64_t{0xD2511F53u} * c0;
        const uint64_t product1 = uint64_t{0xCD9E8D57u} * c2;
        c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
        c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
        c1 = static_cast<uint32_t>(product1);
        c3 = static_cast<uint32_t>(product0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      words[0][lane] = c0;
      words[1][lane] = c1;
      words[2][lane] = c2;
      words[3][lane] = c3;
    }
    float* out = factors + base;
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int word = 0; word < 4; ++word) {
        out[lane * 8 + word * 2] = (words[word][lane] & 0xffffu) < threshold ? 0.0f : keep;
        out[lane * 8 + word * 2 + 1] = (words[word][lane] >> 16) < threshold ? 0.0f : keep;
      }
    }
  }
}

// Walks the rows of a packed batch and knows each one's sample and position.
class RowCursor {
 public:
  RowCursor(const Sequences& sequences, int64_t row) : sequences_(sequences), row_(row) {
    while (sequences_.count > 0 && sequences_.cu_seqlens[sequence_ + 1] <= row_) ++sequence_;
  }
  uint64_t sample_id() const { return sequences_.sample_ids[sequence_]; }
  uint32_t position() const {
    return static_cast<uint32_t>(row_ - sequences_.cu_seqlens[sequence_]);
  }
  void advance() {
    ++row_;
    while (sequence_ < sequences_.count && sequences_.cu_seqlens[sequence_ + 1] <= row_)
      ++sequence_;
  }

 private:
  const Sequences& sequences_;
  int64_t row_;
  int32_t sequence_ = 0;
};

}  // namespace
}  // namespace strata::device::cpu
