#include "data/files/tfrecord_shard.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_message.hpp>
#include <string>

#include "base/error.h"
#include "data/files/instance_schema.h"

namespace strata::data {
namespace {

using protozero::data_view;
using protozero::pbf_message;
using protozero::tag_and_type;
using Wire = protozero::pbf_wire_type;

// Names and tags are from tensorflow/core/example/example.proto and feature.proto.
enum class ExampleTag : protozero::pbf_tag_type { kFeatures = 1 };
enum class FeaturesTag : protozero::pbf_tag_type { kFeature = 1 };
enum class EntryTag : protozero::pbf_tag_type { kKey = 1, kValue = 2 };
enum class FeatureTag : protozero::pbf_tag_type { kFloatList = 2, kInt64List = 3 };
enum class ListTag : protozero::pbf_tag_type { kValue = 1 };

enum class FeatureKind : uint8_t { kOther, kFloats, kIntegers };

struct Feature {
  FeatureKind kind = FeatureKind::kOther;
  std::vector<int64_t> integers;
  std::vector<float> floats;

  size_t size() const { return std::max(integers.size(), floats.size()); }
  std::string description(const std::string& name) const {
    if (kind == FeatureKind::kOther) return name + " bytes";
    return fmt::format("{} {} [{}]", name, kind == FeatureKind::kIntegers ? "int64" : "float32",
                       size());
  }
};
using Features = std::map<std::string, Feature>;

// Reads numbers from a packed field by `get_packed`, or from single fields of type `single`;
// writers may use either.
template <typename Number, typename GetPacked, typename GetSingle>
std::vector<Number> parse_list(data_view bytes, Wire single, const GetPacked& get_packed,
                               const GetSingle& get_single) {
  std::vector<Number> values;
  pbf_message<ListTag> list(bytes);
  while (list.next(ListTag::kValue)) {
    if (list.wire_type() == Wire::length_delimited) {
      const auto range = get_packed(list);
      values.insert(values.end(), range.begin(), range.end());
    } else if (list.wire_type() == single) {
      values.push_back(get_single(list));
    } else {
      list.skip();
    }
  }
  return values;
}

Feature parse_feature(data_view bytes) {
  Feature feature;
  pbf_message<FeatureTag> message(bytes);
  while (message.next()) {
    if (message.tag_and_type() == tag_and_type(FeatureTag::kInt64List, Wire::length_delimited)) {
      feature.kind = FeatureKind::kIntegers;
      feature.integers = parse_list<int64_t>(
          message.get_view(), Wire::varint, [](auto& list) { return list.get_packed_int64(); },
          [](auto& list) { return list.get_int64(); });
    } else if (message.tag_and_type() ==
               tag_and_type(FeatureTag::kFloatList, Wire::length_delimited)) {
      feature.kind = FeatureKind::kFloats;
      feature.floats = parse_list<float>(
          message.get_view(), Wire::fixed32, [](auto& list) { return list.get_packed_float(); },
          [](auto& list) { return list.get_float(); });
    } else {
      message.skip();
    }
  }
  return feature;
}

Features parse_features(const std::string& record) {
  Features features;
  pbf_message<ExampleTag> message(record);
  while (message.next(ExampleTag::kFeatures, Wire::length_delimited)) {
    pbf_message<FeaturesTag> map(message.get_view());
    while (map.next(FeaturesTag::kFeature, Wire::length_delimited)) {
      pbf_message<EntryTag> entry(map.get_view());
      std::string key;
      Feature value;
      while (entry.next()) {
        switch (entry.tag_and_type()) {
          case tag_and_type(EntryTag::kKey, Wire::length_delimited):
            key = entry.get_string();
            break;
          case tag_and_type(EntryTag::kValue, Wire::length_delimited):
            value = parse_feature(entry.get_view());
            break;
          default:
            entry.skip();
        }
      }
      features[key] = std::move(value);
    }
  }
  return features;
}

// A pretraining example. Its errors do not name the file and record; callers add them.
class Example {
 public:
  explicit Example(Features features) : features_(std::move(features)) {
    const size_t columns = integers(schema::kInputIds).size();
    require_size(schema::kInputMask, columns);
    require_size(schema::kSegmentIds, columns);
    require_size(schema::kMaskedIds, integers(schema::kMaskedPositions).size());
    require_size(schema::kNextSentence, 1);
    length_ = count_leading<int64_t>(integers(schema::kInputMask), "its 'input_mask'");
    masked_count_ = count_masked();
  }

  int32_t length() const { return length_; }
  int32_t masked_count() const { return masked_count_; }
  int32_t columns() const { return static_cast<int32_t>(integers(schema::kInputIds).size()); }
  int32_t predictions() const { return static_cast<int32_t>(integers(schema::kMaskedIds).size()); }
  const Features& features() const { return features_; }

  void copy_to(RawSample& out) const {
    copy(schema::kInputIds, length_, out.tokens);
    copy(schema::kSegmentIds, length_, out.segments);
    copy(schema::kMaskedPositions, masked_count_, out.masked_positions);
    copy(schema::kMaskedIds, masked_count_, out.masked_ids);
    out.next_sentence = narrow(schema::kNextSentence, integers(schema::kNextSentence)[0]);
  }

 private:
  const std::vector<int64_t>& integers(const char* name) const {
    const auto found = features_.find(name);
    if (found == features_.end() || found->second.kind != FeatureKind::kIntegers) {
      std::vector<std::string> known;
      for (const auto& [key, feature] : features_) known.push_back(feature.description(key));
      fail("is not a pretraining instance: it lacks the integers '{}' (it has: {})", name,
           fmt::join(known, ", "));
    }
    return found->second.integers;
  }
  void require_size(const char* name, size_t size) const {
    if (integers(name).size() != size) {
      fail("has {} values of '{}' instead of {}", integers(name).size(), name, size);
    }
  }
  int32_t count_masked() const {
    const auto found = features_.find(schema::kMaskedWeights);
    if (found == features_.end()) {  // position 0 is [CLS], which is never masked
      return count_leading<int64_t>(integers(schema::kMaskedPositions),
                                    "its 'masked_lm_positions'");
    }
    const Feature& weights = found->second;
    if (weights.size() != integers(schema::kMaskedIds).size()) {
      fail("has {} values of 'masked_lm_weights' instead of {}", weights.size(),
           integers(schema::kMaskedIds).size());
    }
    constexpr const char* kWhat = "its 'masked_lm_weights'";
    return weights.kind == FeatureKind::kIntegers ? count_leading<int64_t>(weights.integers, kWhat)
                                                  : count_leading<float>(weights.floats, kWhat);
  }
  static int32_t narrow(const char* name, int64_t value) {
    if (value != static_cast<int32_t>(value)) fail("its '{}' has {}", name, value);
    return static_cast<int32_t>(value);
  }
  void copy(const char* name, int32_t count, std::vector<int32_t>& out) const {
    out.clear();
    const std::vector<int64_t>& values = integers(name);
    for (int32_t i = 0; i < count; ++i) {
      out.push_back(narrow(name, values[static_cast<size_t>(i)]));
    }
  }

  Features features_;
  int32_t length_ = 0, masked_count_ = 0;
};

// Calls use(example) with the example in record `record` of `file`.
template <typename Use>
void with_example(const TfrecordFile& file, size_t record, const std::string& bytes,
                  const Use& use) {
  try {
    use(Example(parse_features(bytes)));
  } catch (const protozero::exception& error) {
    fail("{}: is not a tf.train.Example ({}); the file is damaged, or is not a file of samples",
         file.place(record), error.what());
  } catch (const Error& error) {
    fail("{}: {}", file.place(record), error.what());
  }
}
template <typename Use>
void with_example(const TfrecordFile& file, size_t record, const Use& use) {
  with_example(file, record, file.read(record), use);
}

}  // namespace

TfrecordShard::TfrecordShard(const std::filesystem::path& path) : file_(path) {
  if (file_.size() > 0) with_example(file_, 0, [](const Example&) {});
}

ShardIndex TfrecordShard::read_index() const {
  ShardIndex index;
  file_.for_each([&](size_t record, const std::string& bytes) {
    with_example(file_, record, bytes, [&](const Example& example) {
      index.lengths.push_back(example.length());
      index.masked_counts.push_back(example.masked_count());
    });
  });
  return index;
}

void TfrecordShard::read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const {
  with_example(file_, row, [&](const Example& example) {
    if (example.length() != length || example.masked_count() != masked_count) {
      fail("changed after it was opened or indexed");
    }
    example.copy_to(out);
  });
}

InstanceFileInfo TfrecordShard::describe() const {
  InstanceFileInfo info{.form = InstanceForm::kMlperfTfrecord, .samples = file_.size()};
  if (file_.size() == 0) return info;
  with_example(file_, 0, [&](const Example& example) {
    info.max_length = example.columns();
    info.max_predictions = example.predictions();
    for (const auto& [name, feature] : example.features()) {
      info.data_sets.push_back(feature.description(name));
    }
  });
  return info;
}

}  // namespace strata::data
