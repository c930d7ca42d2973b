// Instances for the tests of instance files.
#pragma once

#include <numeric>
#include <vector>

#include "data/files/convert.h"
#include "data/files/instance_file.h"
#include "data/text/instances.h"

namespace strata::data {

inline constexpr int32_t kSampleVocabulary = 1000;

// Returns `count` samples of different lengths, up to 33 tokens.
inline Instances sample_instances(size_t count, int32_t salt = 0) {
  Instances out;
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<int32_t>(i);
    const int32_t length = 5 + (number * 7 + salt) % 29;
    for (int32_t t = 0; t < length; ++t) {
      out.tokens.push_back(5 + (number * 31 + t * 13 + salt) % (kSampleVocabulary - 5));
    }
    out.token_offsets.push_back(out.tokens.size());
    out.first_lengths.push_back(2 + number % (length - 3));
    for (int32_t p = 1 + number % 3; p < length - 1; p += 4) {
      out.masked_positions.push_back(p);
      out.masked_ids.push_back((number * 3 + p * 101) % kSampleVocabulary);
    }
    out.masked_offsets.push_back(out.masked_ids.size());
    out.next_sentence.push_back(static_cast<uint8_t>(i % 2));
    out.documents.push_back(static_cast<uint32_t>(i));
    out.documents.push_back(static_cast<uint32_t>(i + i % 2));
  }
  return out;
}

inline InstanceFileInfo sample_info(InstanceForm form) {
  InstanceFileInfo info;
  info.form = form;
  info.vocabulary_size = kSampleVocabulary;
  info.max_length = 40;
  info.max_predictions = 10;
  info.seed = 77;
  info.text_hash = "0123456789abcdef";
  info.made_from = "{}";
  return info;
}

inline std::vector<uint32_t> all_samples(const InstanceSource& source) {
  std::vector<uint32_t> samples(source.size());
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

inline Instances to_instances(const PackedBatch& batch) {
  Instances out;
  append_samples(batch, out);
  return out;
}

inline constexpr InstanceForm kAllForms[] = {InstanceForm::kPacked, InstanceForm::kMlperfFixed,
                                             InstanceForm::kMlperfVariable};

}  // namespace strata::data
