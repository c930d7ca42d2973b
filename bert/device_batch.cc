#include "bert/device_batch.h"

#include <algorithm>

#include "base/error.h"

namespace strata::bert {

DeviceBatch::DeviceBatch(device::Backend& backend, const BatchCapacity& capacity)
    : backend_(backend),
      capacity_(capacity),
      tokens_(backend, static_cast<size_t>(capacity.tokens) * sizeof(int32_t)),
      segments_(backend, tokens_.bytes()),
      positions_(backend, tokens_.bytes()),
      cu_seqlens_(backend, static_cast<size_t>(capacity.sequences + 1) * sizeof(int32_t)),
      masked_positions_(backend, static_cast<size_t>(capacity.masked) * sizeof(int32_t)),
      masked_ids_(backend, masked_positions_.bytes()),
      next_sentence_(backend, static_cast<size_t>(capacity.sequences) * sizeof(int32_t)),
      sample_ids_(backend, static_cast<size_t>(capacity.sequences) * sizeof(uint64_t)) {
  tokens = tokens_.as<int32_t>();
  segments = segments_.as<int32_t>();
  positions = positions_.as<int32_t>();
  masked_positions = masked_positions_.as<int32_t>();
  masked_ids = masked_ids_.as<int32_t>();
  next_sentence = next_sentence_.as<int32_t>();
  sequences.cu_seqlens = cu_seqlens_.as<int32_t>();
  sequences.sample_ids = sample_ids_.as<uint64_t>();
}

void DeviceBatch::upload(device::Stream stream, const data::PackedBatch& batch) {
  const auto fits = [](const char* what, size_t found, int64_t capacity) {
    if (static_cast<int64_t>(found) > capacity) {
      fail("a batch with {} {} does not fit the {} that memory was taken for", found, what,
           capacity);
    }
  };
  fits("tokens", batch.tokens.size(), capacity_.tokens);
  fits("sequences", batch.sample_ids.size(), capacity_.sequences);
  fits("masked positions", batch.masked_positions.size(), capacity_.masked);
  const auto copy = [&](const device::Buffer& to, const auto& from) {
    backend_.copy_to_device(stream, to.data(), from.data(), from.size() * sizeof(from[0]));
  };
  copy(tokens_, batch.tokens);
  copy(segments_, batch.segments);
  copy(positions_, batch.positions);
  copy(cu_seqlens_, batch.cu_seqlens);
  copy(masked_positions_, batch.masked_positions);
  copy(masked_ids_, batch.masked_ids);
  copy(next_sentence_, batch.next_sentence);
  copy(sample_ids_, batch.sample_ids);
  masked = static_cast<int64_t>(batch.masked_positions.size());
  sequences.count = static_cast<int32_t>(batch.sample_ids.size());
  sequences.tokens = static_cast<int32_t>(batch.tokens.size());
  sequences.max_length = 0;
  for (size_t i = 0; i + 1 < batch.cu_seqlens.size(); ++i) {
    sequences.max_length =
        std::max(sequences.max_length, batch.cu_seqlens[i + 1] - batch.cu_seqlens[i]);
  }
}

}  // namespace strata::bert
