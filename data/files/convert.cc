#include "data/files/convert.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace strata::data {
namespace {

constexpr uint32_t kSamplesAtATime = 1024;

int32_t first_length(const PackedBatch& batch, size_t sample) {
  const auto begin = batch.segments.begin() + batch.cu_seqlens[sample];
  const auto end = batch.segments.begin() + batch.cu_seqlens[sample + 1];
  const auto middle = std::find(begin, end, 1);
  if (std::find(middle, end, 0) != end) {
    fail(
        "sample {} has segment id 0 after segment id 1; each sample must have two segments in "
        "order",
        batch.sample_ids[sample]);
  }
  return static_cast<int32_t>(middle - begin);
}

}  // namespace

void append_samples(const PackedBatch& batch, Instances& out) {
  const uint64_t tokens_before = out.tokens.size();
  out.tokens.insert(out.tokens.end(), batch.tokens.begin(), batch.tokens.end());
  out.masked_ids.insert(out.masked_ids.end(), batch.masked_ids.begin(), batch.masked_ids.end());
  size_t masked = 0;
  for (size_t i = 0; i < batch.sample_ids.size(); ++i) {
    const int32_t begin = batch.cu_seqlens[i];
    const int32_t end = batch.cu_seqlens[i + 1];
    for (; masked < batch.masked_positions.size() && batch.masked_positions[masked] < end;
         ++masked) {
      out.masked_positions.push_back(batch.masked_positions[masked] - begin);
    }
    out.token_offsets.push_back(tokens_before + static_cast<uint64_t>(end));
    out.masked_offsets.push_back(out.masked_positions.size());
    out.first_lengths.push_back(first_length(batch, i));
    out.next_sentence.push_back(static_cast<uint8_t>(batch.next_sentence[i]));
  }
}

Instances load_instances(const InstanceSource& source) {
  Instances out;
  PackedBatch batch;
  std::vector<uint32_t> samples;
  for (uint32_t first = 0; first < source.size(); first += kSamplesAtATime) {
    samples.clear();
    for (uint32_t i = first; i < source.size() && i - first < kSamplesAtATime; ++i) {
      samples.push_back(i);
    }
    source.read(samples, batch);
    append_samples(batch, out);
  }
  out.documents = source.documents();
  return out;
}

uint64_t convert_instances(std::span<const std::filesystem::path> from,
                           const std::filesystem::path& to, InstanceForm form,
                           int32_t vocabulary_size, bool variable_length) {
  const auto source = open_instances(from, {vocabulary_size, UINT16_MAX, variable_length});
  const Instances instances = load_instances(*source);
  InstanceFileInfo info;
  if (std::filesystem::is_regular_file(from[0])) info = describe_instance_file(from[0]);
  info.form = form;
  info.vocabulary_size = vocabulary_size;
  info.max_length = std::max<int32_t>(info.max_length, std::ranges::max(source->lengths()));
  info.max_predictions =
      std::max<int32_t>(info.max_predictions, std::ranges::max(source->masked_counts()));
  write_instances(to, instances, info);
  write_index(std::span(&to, 1), form == InstanceForm::kMlperfVariable);
  return instances.size();
}

}  // namespace strata::data
