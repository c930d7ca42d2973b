// A packed batch in device memory.
#pragma once

#include <compare>
#include <optional>

#include "data/files/packed_batch.h"
#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bert {

// The stream of the model's work.
inline constexpr device::Stream kCompute = device::Stream::kCompute;

// Upper limits of a batch; memory is allocated once for them.
struct BatchCapacity {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t masked = 0;  // masked positions
};

// Returns the smallest capacity that holds `batch`.
BatchCapacity capacity_of(const data::PackedBatch& batch);

// The sizes of a batch that determine the issued work.
struct BatchShape {
  int64_t tokens = 0;
  int64_t samples = 0;
  int64_t masked = 0;
  int64_t max_length = 0;  // at least the length of the longest sequence

  auto operator<=>(const BatchShape&) const = default;
};

// Multiples that sizes of a batch are rounded up to. Few different sizes then occur, so that work
// can be captured as graphs and libraries see few shapes. Tokens are filled up by one more sequence
// of padding, and masked positions by ignored ones, so losses and gradients do not change.
struct BatchRounding {
  int64_t tokens = 1;      // must not exceed the tokens that a sequence may have
  int64_t masked = 1;      // masked positions
  int64_t max_length = 1;  // rounds only the bound on sequence length; adds no padding

  BatchCapacity rounded(const BatchCapacity& capacity) const;
  // Returns the shape of a batch of this size whose longest sequence has `longest` tokens.
  BatchShape shape_of(const BatchCapacity& size, int64_t longest) const;
};

class DeviceBatch {
 public:
  DeviceBatch(device::Backend& backend, const BatchCapacity& capacity,
              const BatchRounding& rounding = {});

  const BatchCapacity& capacity() const { return capacity_; }

  // Copies `batch` to the device, in one copy on `stream`. The caller may change `batch` as soon as
  // it returns. Waits for the previous copy. Throws Error if `batch` exceeds the capacity.
  void upload(device::Stream stream, const data::PackedBatch& batch);

  device::Sequences sequences;                // if tokens are rounded, the last is padding or empty
  int64_t samples = 0;                        // B, without the padding
  const int32_t* tokens = nullptr;            // [T]
  const int32_t* segments = nullptr;          // [T]
  const int32_t* positions = nullptr;         // [T]
  const int32_t* masked_positions = nullptr;  // [M], -1 for padding
  const int32_t* masked_ids = nullptr;        // [M], -1 for padding
  const int32_t* next_sentence = nullptr;     // [B]
  int64_t masked = 0;                         // M

  // Real tokens and masked positions, which come before the padding.
  device::StepValue<int32_t> token_count() const {
    return device::value_at(sequences.cu_seqlens + samples);
  }
  device::StepValue<int32_t> masked_count() const { return device::value_at(masked_count_); }

  BatchShape shape() const;

 private:
  // Offsets in bytes from the beginning of the memory.
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
  const int32_t* masked_count_ = nullptr;    // points into memory_
  std::optional<device::Stream> copied_on_;  // stream of the previous copy
};

}  // namespace strata::bert
