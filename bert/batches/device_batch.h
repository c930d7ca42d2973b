// A packed batch in device memory.
#pragma once

#include <compare>
#include <optional>

#include "data/files/packed_batch.h"
#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bert {

// What the model is issued on.
inline constexpr device::Stream kCompute = device::Stream::kCompute;

// The most that batches will hold; memory is taken for it once.
struct BatchCapacity {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t masked = 0;  // masked positions
};

// What just holds `batch`.
BatchCapacity capacity_of(const data::PackedBatch& batch);

// The numbers of a batch that decide what is issued for it.
struct BatchShape {
  int64_t tokens = 0;
  int64_t samples = 0;
  int64_t masked = 0;
  int64_t max_length = 0;  // at least that of the longest sequence

  auto operator<=>(const BatchShape&) const = default;
};

// Multiples that numbers of a batch are rounded up to, so that few different ones occur: operations
// can then be captured and launched, and libraries meet few shapes. Tokens are filled up with one
// more sequence of padding, masked positions with ones that count for nothing: losses and gradients
// are the same.
struct BatchRounding {
  int64_t tokens = 1;      // at most what a sequence may have
  int64_t masked = 1;      // masked positions
  int64_t max_length = 1;  // of the longest sequence; nothing is filled up for it

  BatchCapacity rounded(const BatchCapacity& capacity) const;
  // Of a batch of this size, whose longest sequence has `longest` tokens.
  BatchShape shape_of(const BatchCapacity& size, int64_t longest) const;
};

class DeviceBatch {
 public:
  DeviceBatch(device::Backend& backend, const BatchCapacity& capacity,
              const BatchRounding& rounding = {});

  const BatchCapacity& capacity() const { return capacity_; }

  // Copies `batch` to the device, in one copy on `stream`; `batch` may be changed at once. Waits
  // for the last copy, if there was one. Throws Error where it exceeds the capacity.
  void upload(device::Stream stream, const data::PackedBatch& batch);

  device::Sequences sequences;                // the padding is the last of them, maybe empty
  int64_t samples = 0;                        // B, without it
  const int32_t* tokens = nullptr;            // [T]
  const int32_t* segments = nullptr;          // [T]
  const int32_t* positions = nullptr;         // [T]
  const int32_t* masked_positions = nullptr;  // [M], -1 where filled up
  const int32_t* masked_ids = nullptr;        // [M], -1 where filled up
  const int32_t* next_sentence = nullptr;     // [B]
  int64_t masked = 0;                         // M

  // Of T and M, those that were not filled up, which are the first.
  device::StepValue<int32_t> token_count() const {
    return device::value_at(sequences.cu_seqlens + samples);
  }
  device::StepValue<int32_t> masked_count() const { return device::value_at(masked_count_); }

  BatchShape shape() const;

 private:
  // Bytes from the beginning of the memory.
  struct Places {
    explicit Places(const BatchCapacity& capacity);
    size_t sample_ids, cu_seqlens, next_sentence, masked_positions, masked_ids, tokens, segments,
        positions, masked_count;
    size_t end;
  };

  device::Backend& backend_;
  BatchCapacity capacity_;
  BatchRounding rounding_;
  Places places_;
  device::HostBuffer staging_;
  device::Buffer memory_;
  const int32_t* masked_count_ = nullptr;    // in it
  std::optional<device::Stream> copied_on_;  // the last time
};

}  // namespace strata::bert
