#include "bert/batches/device_batch.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace strata::bert {
namespace {

int64_t round_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

}  // namespace

BatchCapacity capacity_of(const data::PackedBatch& batch) {
  return {.tokens = std::ssize(batch.tokens),
          .sequences = std::ssize(batch.sample_ids),
          .masked = std::ssize(batch.masked_ids)};
}

BatchCapacity BatchRounding::rounded(const BatchCapacity& capacity) const {
  return {.tokens = round_up(capacity.tokens, tokens),
          .sequences = capacity.sequences + (tokens > 1 ? 1 : 0),
          .masked = round_up(capacity.masked, masked)};
}

BatchShape BatchRounding::shape_of(const BatchCapacity& size, int64_t longest) const {
  const BatchCapacity filled = rounded(size);
  return {.tokens = filled.tokens,
          .samples = size.sequences,
          .masked = filled.masked,
          .max_length = round_up(std::max(longest, filled.tokens - size.tokens), max_length)};
}

DeviceBatch::Places::Places(const BatchCapacity& capacity) {
  size_t next = 0;
  const auto place = [&](int64_t count, int64_t bytes_each) {
    constexpr int64_t kAlignment = 64;
    const size_t begin = next;
    next += static_cast<size_t>(round_up(count * bytes_each, kAlignment));
    return begin;
  };
  sample_ids = place(capacity.sequences, sizeof(uint64_t));
  cu_seqlens = place(capacity.sequences + 1, sizeof(int32_t));
  next_sentence = place(capacity.sequences, sizeof(int32_t));
  masked_positions = place(capacity.masked, sizeof(int32_t));
  masked_ids = place(capacity.masked, sizeof(int32_t));
  tokens = place(capacity.tokens, sizeof(int32_t));
  segments = place(capacity.tokens, sizeof(int32_t));
  positions = place(capacity.tokens, sizeof(int32_t));
  masked_count = place(1, sizeof(int32_t));
  end = next;
}

DeviceBatch::DeviceBatch(device::Backend& backend, const BatchCapacity& capacity,
                         const BatchRounding& rounding)
    : backend_(backend),
      capacity_(capacity),
      rounding_(rounding),
      places_(rounding.rounded(capacity)),
      staging_(backend, places_.end),
      memory_(backend, places_.end) {
  const auto at = [&](size_t place) {
    return reinterpret_cast<const int32_t*>(memory_.as<char>() + place);
  };
  tokens = at(places_.tokens);
  segments = at(places_.segments);
  positions = at(places_.positions);
  masked_positions = at(places_.masked_positions);
  masked_ids = at(places_.masked_ids);
  next_sentence = at(places_.next_sentence);
  masked_count_ = at(places_.masked_count);
  sequences.cu_seqlens = at(places_.cu_seqlens);
  sequences.sample_ids = reinterpret_cast<const uint64_t*>(memory_.as<char>() + places_.sample_ids);
  std::memset(staging_.as<char>(), 0, places_.end);
}

void DeviceBatch::upload(device::Stream stream, const data::PackedBatch& batch) {
  const auto fits = [](const char* what, size_t found, int64_t capacity) {
    if (static_cast<int64_t>(found) > capacity) {
      fail("a batch has {} {}, but memory is allocated for {}", found, what, capacity);
    }
  };
  fits("tokens", batch.tokens.size(), capacity_.tokens);
  fits("sequences", batch.sample_ids.size(), capacity_.sequences);
  fits("masked positions", batch.masked_positions.size(), capacity_.masked);
  if (copied_on_) backend_.synchronize(*copied_on_);
  copied_on_ = stream;
  const BatchCapacity rounded = rounding_.rounded(capacity_of(batch));
  // Copies `from` and fills up with `padding` to `count` elements.
  const auto put = [&]<typename Number>(size_t place, const std::vector<Number>& from,
                                        int64_t count, Number padding) {
    auto* to = reinterpret_cast<Number*>(staging_.as<char>() + place);
    std::fill(std::copy(from.begin(), from.end(), to), to + count, padding);
  };
  put(places_.tokens, batch.tokens, rounded.tokens, 0);
  put(places_.segments, batch.segments, rounded.tokens, 0);
  put(places_.positions, batch.positions, rounded.tokens, 0);
  put(places_.cu_seqlens, batch.cu_seqlens, rounded.sequences + 1,
      static_cast<int32_t>(rounded.tokens));
  put(places_.masked_positions, batch.masked_positions, rounded.masked, -1);
  put(places_.masked_ids, batch.masked_ids, rounded.masked, -1);
  put(places_.masked_count, {static_cast<int32_t>(batch.masked_ids.size())}, 1, 0);
  put(places_.next_sentence, batch.next_sentence, std::ssize(batch.next_sentence), 0);
  put(places_.sample_ids, batch.sample_ids, rounded.sequences, uint64_t{0});
  backend_.copy_to_device(stream, memory_.data(), staging_.as<char>(), places_.end);
  int64_t longest = 0, shortest = rounded.tokens;
  for (size_t i = 0; i + 1 < batch.cu_seqlens.size(); ++i) {
    const int64_t length = batch.cu_seqlens[i + 1] - batch.cu_seqlens[i];
    longest = std::max(longest, length);
    shortest = std::min(shortest, length);
  }
  const BatchShape shape = rounding_.shape_of(capacity_of(batch), longest);
  masked = shape.masked;
  samples = shape.samples;
  sequences.count = static_cast<int32_t>(rounded.sequences);
  sequences.tokens = static_cast<int32_t>(shape.tokens);
  sequences.max_length = static_cast<int32_t>(shape.max_length);
  // The padding sequence may be empty, so the bound must be 0 for all batches of one shape.
  sequences.min_length = rounding_.tokens > 1 || shortest == 0 ? 0 : 1;
}

BatchShape DeviceBatch::shape() const {
  return {.tokens = sequences.tokens,
          .samples = samples,
          .masked = masked,
          .max_length = sequences.max_length};
}

}  // namespace strata::bert
