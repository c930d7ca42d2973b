#include <algorithm>

#include "base/error.h"
#include "base/files/files.h"
#include "data/files/instance_file.h"
#include "data/files/instance_schema.h"
#include "data/hdf5/hdf5.h"

namespace strata::data {
namespace {

using hdf5::File;

// Returns the narrowest type for the ids of a vocabulary.
hid_t token_type(int32_t vocabulary_size) {
  return vocabulary_size <= UINT16_MAX + 1 ? H5T_STD_U16LE : H5T_STD_I32LE;
}

std::vector<uint64_t> interleave(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < a.size(); ++i) out.insert(out.end(), {a[i], b[i]});
  return out;
}

std::vector<int32_t> segments_of(const Instances& instances) {
  std::vector<int32_t> segments(instances.tokens.size(), 1);
  for (size_t i = 0; i < instances.size(); ++i) {
    std::fill_n(segments.begin() + static_cast<ptrdiff_t>(instances.token_offsets[i]),
                instances.first_lengths[i], 0);
  }
  return segments;
}

// Returns [N, columns], each row padded with zeros.
std::vector<int32_t> pad(const std::vector<int32_t>& values, const std::vector<uint64_t>& offsets,
                         size_t columns, const std::string& where, std::string_view what) {
  std::vector<int32_t> padded((offsets.size() - 1) * columns);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const size_t count = offsets[i + 1] - offsets[i];
    if (count > columns) {
      fail("{}: sample {} has {} {}, but the fixed-length form holds {}; raise the maximum", where,
           i, count, what, columns);
    }
    std::copy_n(values.begin() + static_cast<ptrdiff_t>(offsets[i]), count,
                padded.begin() + static_cast<ptrdiff_t>(i * columns));
  }
  return padded;
}

void write_packed(File& file, const Instances& instances, const InstanceFileInfo& info) {
  const uint64_t rows = instances.size();
  const uint64_t masked = instances.masked_ids.size();
  const hid_t tokens = token_type(info.vocabulary_size);
  file.set_attribute(schema::kVersionAttribute, schema::kFormatVersion);
  file.write(schema::kOffsets, H5T_STD_U64LE, {rows + 1, 2},
             interleave(instances.token_offsets, instances.masked_offsets).data());
  file.write(schema::kTokens, tokens, {instances.tokens.size()}, instances.tokens.data());
  file.write(schema::kFirstLengths, H5T_STD_U16LE, {rows}, instances.first_lengths.data());
  file.write(schema::kMaskedPositions, H5T_STD_U16LE, {masked}, instances.masked_positions.data());
  file.write(schema::kMaskedIds, tokens, {masked}, instances.masked_ids.data());
}

void write_fixed(File& file, const Instances& instances, const InstanceFileInfo& info) {
  const std::string where = file.path().string();
  const auto length = static_cast<size_t>(info.max_length);
  const auto predictions = static_cast<size_t>(info.max_predictions);
  const auto write = [&](const char* name, hid_t type, size_t columns,
                         const std::vector<int32_t>& values) {
    file.write(name, type, {instances.size(), columns}, values.data(), true);
  };
  const auto by_token = [&](const std::vector<int32_t>& values) {
    return pad(values, instances.token_offsets, length, where, "tokens");
  };
  const auto by_masked = [&](const std::vector<int32_t>& values) {
    return pad(values, instances.masked_offsets, predictions, where, "masked positions");
  };
  write(schema::kInputIds, H5T_STD_I32LE, length, by_token(instances.tokens));
  write(schema::kInputMask, H5T_STD_I8LE, length,
        by_token(std::vector<int32_t>(instances.tokens.size(), 1)));
  write(schema::kSegmentIds, H5T_STD_I8LE, length, by_token(segments_of(instances)));
  write(schema::kMaskedPositions, H5T_STD_I32LE, predictions,
        by_masked(instances.masked_positions));
  write(schema::kMaskedIds, H5T_STD_I32LE, predictions, by_masked(instances.masked_ids));
}

void write_variable(File& file, const Instances& instances, const InstanceFileInfo& info) {
  const hid_t ids = info.vocabulary_size <= INT16_MAX + 1 ? H5T_STD_I16LE : H5T_STD_I32LE;
  const hid_t positions = info.max_length <= INT16_MAX + 1 ? H5T_STD_I16LE : H5T_STD_I32LE;
  const auto& by_token = instances.token_offsets;
  const auto& by_masked = instances.masked_offsets;
  file.write_variable(schema::kInputIds, ids, instances.tokens, by_token);
  file.write_variable(schema::kSegmentIds, H5T_STD_I8LE, segments_of(instances), by_token);
  file.write_variable(schema::kMaskedPositions, positions, instances.masked_positions, by_masked);
  file.write_variable(schema::kMaskedIds, ids, instances.masked_ids, by_masked);
}

}  // namespace

void write_instances(const std::filesystem::path& path, const Instances& instances,
                     const InstanceFileInfo& info) {
  File file = File::create_in_memory(path);
  switch (info.form) {
    case InstanceForm::kPacked:
      write_packed(file, instances, info);
      break;
    case InstanceForm::kMlperfFixed:
      write_fixed(file, instances, info);
      break;
    case InstanceForm::kMlperfVariable:
      write_variable(file, instances, info);
      break;
    case InstanceForm::kMlperfTfrecord:
      fail("{}: TFRecord files cannot be written; choose another form", path.string());
  }
  file.write(schema::kNextSentence, H5T_STD_I8LE, {instances.size()},
             instances.next_sentence.data());
  if (!instances.documents.empty()) {
    file.write(schema::kDocuments, H5T_STD_U32LE, {instances.size(), 2},
               instances.documents.data());
  }
  file.set_attribute(schema::kVocabularySizeAttribute, info.vocabulary_size);
  file.set_attribute(schema::kMaxLengthAttribute, info.max_length);
  file.set_attribute(schema::kMaxPredictionsAttribute, info.max_predictions);
  file.set_attribute(schema::kSeedAttribute, static_cast<int64_t>(info.seed));
  file.set_attribute(schema::kTextHashAttribute, info.text_hash);
  file.set_attribute(schema::kMadeFromAttribute, info.made_from);
  write_file_atomically(path, file.image());
  std::error_code none;
  std::filesystem::remove(index_path(path), none);  // the index describes the previous file
}

}  // namespace strata::data
