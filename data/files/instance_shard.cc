#include "data/files/instance_shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/files/lines.h"
#include "base/text/counts.h"
#include "data/files/instance_schema.h"
#include "data/files/part_name.h"
#include "data/files/tfrecord_shard.h"

namespace strata::data {
namespace {

using hdf5::DataSet;
using hdf5::File;

constexpr uint64_t kIndexRows = 1 << 14;  // rows scanned at a time
constexpr uint64_t kIndexElements = kIndexRows * 512;
constexpr uint64_t kMostRows = UINT32_MAX;
constexpr uint64_t kMostColumns = 1 << 20;

[[noreturn]] void fail_schema(const File& file, const DataSet& set, std::string_view expected) {
  fail("{}: data set '{}' must be {}; make the file again, or check its origin",
       file.path().string(), set.description(), expected);
}

DataSet open_integers(const File& file, const char* name, size_t rank) {
  DataSet set = file.data_set(name);
  if (!set.is_integer() || set.shape().size() != rank) {
    fail_schema(file, set, fmt::format("integers of {}", counted(rank, "dimension")));
  }
  set.require_readable();
  return set;
}

DataSet open_rows(const File& file, const char* name) {
  DataSet set = file.data_set(name);
  if (!set.is_variable() || set.shape().size() != 1) {
    fail_schema(file, set, "variable-length integer rows of 1 dimension");
  }
  set.require_readable();
  return set;
}

void require_rows(const File& file, const DataSet& set, uint64_t rows) {
  if (set.rows() != rows) fail_schema(file, set, fmt::format("{} long, like the others", rows));
}

uint64_t checked_rows(const File& file, const DataSet& set) {
  if (set.rows() > kMostRows) fail_schema(file, set, "at most 4294967295 long; split the file");
  return set.rows();
}

// Checked before the data is read, because a shape alone does not prove that the data exists.
void require_whole(const File& file, const DataSet& set) {
  if (!set.is_whole()) {
    fail("{}: data set '{}' was written only in part; make the file again", file.path().string(),
         set.description());
  }
}

// Calls visit(first_row, row_count) over blocks of [0, rows).
template <typename Visit>
void for_blocks(uint64_t rows, uint64_t columns, const Visit& visit) {
  const uint64_t most =
      std::clamp<uint64_t>(kIndexElements / std::max<uint64_t>(columns, 1), 1, kIndexRows);
  for (uint64_t row = 0; row < rows; row += most) visit(row, std::min(most, rows - row));
}

class Hdf5Shard : public InstanceShard {
 public:
  std::vector<uint32_t> documents() const override {
    if (!file_.has(schema::kDocuments)) return {};
    const DataSet set = open_integers(file_, schema::kDocuments, 2);
    const uint64_t rows = open_integers(file_, schema::kNextSentence, 1).rows();
    if (set.rows() != rows || set.shape()[1] != 2) fail_schema(file_, set, "[samples, 2]");
    std::vector<uint32_t> documents(2 * set.rows());
    set.read(0, set.rows(), 2, documents.data());
    return documents;
  }

 protected:
  explicit Hdf5Shard(File file) : file_(std::move(file)) {}
  File file_;
};

class PackedShard : public Hdf5Shard {
 public:
  explicit PackedShard(File file)
      : Hdf5Shard(std::move(file)),
        offsets_(open_integers(file_, schema::kOffsets, 2)),
        tokens_(open_integers(file_, schema::kTokens, 1)),
        first_lengths_(open_integers(file_, schema::kFirstLengths, 1)),
        masked_positions_(open_integers(file_, schema::kMaskedPositions, 1)),
        masked_ids_(open_integers(file_, schema::kMaskedIds, 1)),
        next_sentence_(open_integers(file_, schema::kNextSentence, 1)) {
    const auto version = file_.integer_attribute(schema::kVersionAttribute);
    if (version != schema::kFormatVersion) {
      fail(
          "{}: attribute '{}' is {}, but this program reads {}; make the file again with 'strata "
          "data prepare'",
          file_.path().string(), schema::kVersionAttribute,
          version ? std::to_string(*version) : "missing", schema::kFormatVersion);
    }
    if (offsets_.rows() == 0 || offsets_.shape()[1] != 2) {
      fail_schema(file_, offsets_, "[samples + 1, 2]");
    }
    const uint64_t rows = checked_rows(file_, offsets_) - 1;
    require_rows(file_, first_lengths_, rows);
    require_rows(file_, next_sentence_, rows);
    require_rows(file_, masked_ids_, masked_positions_.rows());
  }

  ShardIndex read_index() const override {
    ShardIndex index;
    uint64_t before[2] = {0, 0};
    std::vector<uint64_t> block;
    require_whole(file_, offsets_);
    for_blocks(offsets_.rows(), 2, [&](uint64_t first, uint64_t count) {
      block.resize(2 * count);
      offsets_.read(first, count, 2, block.data());
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t* now = &block[2 * i];
        const bool rises = now[0] >= before[0] && now[1] >= before[1] &&
                           now[0] - before[0] <= INT32_MAX && now[1] - before[1] <= INT32_MAX;
        if (first + i == 0 ? now[0] != 0 || now[1] != 0 : !rises) {
          fail(
              "{}: data set '{}' has [{}, {}] at row {}{}, but rows must start at [0, "
              "0] and rise by 0 to {}; the index is damaged, make the file again",
              file_.path().string(), schema::kOffsets, now[0], now[1], first + i,
              first + i == 0 ? "" : fmt::format(" after [{}, {}]", before[0], before[1]),
              INT32_MAX);
        }
        if (first + i > 0) {
          index.lengths.push_back(static_cast<int32_t>(now[0] - before[0]));
          index.masked_counts.push_back(static_cast<int32_t>(now[1] - before[1]));
        }
        before[0] = now[0];
        before[1] = now[1];
      }
    });
    require_rows(file_, tokens_, before[0]);
    require_rows(file_, masked_ids_, before[1]);
    return index;
  }

  void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const override {
    uint64_t offsets[4];
    offsets_.read(row, 2, 2, offsets);
    if (offsets[2] - offsets[0] != static_cast<uint64_t>(length) ||
        offsets[3] - offsets[1] != static_cast<uint64_t>(masked_count)) {
      fail("{}: row {} changed after it was opened or indexed", file_.path().string(), row);
    }
    int32_t first_length = 0;
    first_lengths_.read(row, 1, 1, &first_length);
    next_sentence_.read(row, 1, 1, &out.next_sentence);
    out.tokens.resize(static_cast<size_t>(length));
    tokens_.read(offsets[0], out.tokens.size(), 1, out.tokens.data());
    if (first_length < 0 || first_length > length) {
      fail("{}: data set '{}' has {} at row {}, whose length is {}; make the file again",
           file_.path().string(), schema::kFirstLengths, first_length, row, length);
    }
    out.segments.assign(out.tokens.size(), 1);
    std::fill_n(out.segments.begin(), first_length, 0);
    out.masked_positions.resize(static_cast<size_t>(masked_count));
    out.masked_ids.resize(static_cast<size_t>(masked_count));
    masked_positions_.read(offsets[1], out.masked_ids.size(), 1, out.masked_positions.data());
    masked_ids_.read(offsets[1], out.masked_ids.size(), 1, out.masked_ids.data());
  }

 private:
  DataSet offsets_, tokens_, first_lengths_, masked_positions_, masked_ids_, next_sentence_;
};

class FixedShard : public Hdf5Shard {
 public:
  explicit FixedShard(File file)
      : Hdf5Shard(std::move(file)),
        input_ids_(open_integers(file_, schema::kInputIds, 2)),
        input_mask_(open_integers(file_, schema::kInputMask, 2)),
        segment_ids_(open_integers(file_, schema::kSegmentIds, 2)),
        masked_positions_(open_integers(file_, schema::kMaskedPositions, 2)),
        masked_ids_(open_integers(file_, schema::kMaskedIds, 2)),
        next_sentence_(open_integers(file_, schema::kNextSentence, 1)) {
    const uint64_t rows = checked_rows(file_, input_ids_);
    for (const DataSet* set :
         {&input_mask_, &segment_ids_, &masked_positions_, &masked_ids_, &next_sentence_}) {
      require_rows(file_, *set, rows);
    }
    for (const DataSet* set : {&input_mask_, &segment_ids_}) {
      if (set->shape() != input_ids_.shape()) fail_schema(file_, *set, "of the shape of input_ids");
    }
    if (masked_positions_.shape() != masked_ids_.shape()) {
      fail_schema(file_, masked_ids_, "of the shape of masked_lm_positions");
    }
    // Rows of width 0 would allow any number of rows in a small file.
    if (input_ids_.shape()[1] < 1 || input_ids_.shape()[1] > kMostColumns) {
      fail_schema(file_, input_ids_, fmt::format("1 to {} wide", kMostColumns));
    }
    if (masked_ids_.shape()[1] > kMostColumns) {
      fail_schema(file_, masked_ids_, fmt::format("at most {} wide", kMostColumns));
    }
  }

  ShardIndex read_index() const override {
    return {count_leading(input_mask_), count_leading(masked_positions_)};
  }

  void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const override {
    read_prefix(input_ids_, row, length, out.tokens);
    read_prefix(segment_ids_, row, length, out.segments);
    read_prefix(masked_positions_, row, masked_count, out.masked_positions);
    read_prefix(masked_ids_, row, masked_count, out.masked_ids);
    next_sentence_.read(row, 1, 1, &out.next_sentence);
  }

 private:
  // Returns the number of values before each row's padding of zeros. It serves for masked positions
  // as well as for the mask, because position 0 is [CLS], which is never masked.
  std::vector<int32_t> count_leading(const DataSet& set) const {
    const uint64_t columns = set.shape()[1];
    std::vector<int32_t> counts;
    std::vector<int32_t> block;
    require_whole(file_, set);
    for_blocks(set.rows(), columns, [&](uint64_t first, uint64_t rows) {
      block.resize(rows * columns);
      set.read(first, rows, columns, block.data());
      for (uint64_t i = 0; i < rows; ++i) {
        counts.push_back(
            data::count_leading(std::span<const int32_t>(block).subspan(i * columns, columns),
                                fmt::format("{}: data set '{}' row {}", file_.path().string(),
                                            set.description(), first + i)));
      }
    });
    return counts;
  }

  static void read_prefix(const DataSet& set, uint32_t row, int32_t count,
                          std::vector<int32_t>& out) {
    out.resize(static_cast<size_t>(count));
    set.read(row, 1, out.size(), out.data());
  }

  DataSet input_ids_, input_mask_, segment_ids_, masked_positions_, masked_ids_, next_sentence_;
};

class VariableShard : public Hdf5Shard {
 public:
  explicit VariableShard(File file)
      : Hdf5Shard(std::move(file)),
        input_ids_(open_rows(file_, schema::kInputIds)),
        segment_ids_(open_rows(file_, schema::kSegmentIds)),
        masked_positions_(open_rows(file_, schema::kMaskedPositions)),
        masked_ids_(open_rows(file_, schema::kMaskedIds)),
        next_sentence_(open_integers(file_, schema::kNextSentence, 1)) {
    const uint64_t rows = checked_rows(file_, input_ids_);
    for (const DataSet* set : {&segment_ids_, &masked_positions_, &masked_ids_, &next_sentence_}) {
      require_rows(file_, *set, rows);
    }
  }

  // The library reports the length of a row only when it reads the row; segments are the smallest
  // column.
  ShardIndex read_index() const override {
    return {row_lengths(segment_ids_), row_lengths(masked_positions_)};
  }

  void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const override {
    read_row(input_ids_, row, length, out.tokens);
    read_row(segment_ids_, row, length, out.segments);
    read_row(masked_positions_, row, masked_count, out.masked_positions);
    read_row(masked_ids_, row, masked_count, out.masked_ids);
    next_sentence_.read(row, 1, 1, &out.next_sentence);
  }

 private:
  std::vector<int32_t> row_lengths(const DataSet& set) const {
    std::vector<int32_t> values;
    std::vector<size_t> block;
    std::vector<int32_t> lengths;
    require_whole(file_, set);
    for_blocks(set.rows(), 1, [&](uint64_t first, uint64_t rows) {
      set.read_variable(first, rows, values, block);
      lengths.insert(lengths.end(), block.begin(), block.end());
    });
    return lengths;
  }

  void read_row(const DataSet& set, uint32_t row, int32_t expected,
                std::vector<int32_t>& out) const {
    std::vector<size_t> lengths;
    set.read_variable(row, 1, out, lengths);
    if (lengths[0] != static_cast<size_t>(expected)) {
      fail("{}: data set '{}' row {} has {} values instead of {}; make the file again",
           file_.path().string(), set.description(), row, lengths[0], expected);
    }
  }

  DataSet input_ids_, segment_ids_, masked_positions_, masked_ids_, next_sentence_;
};

}  // namespace

namespace {

// TensorFlow may compress a whole file of records, in which no record can be found. The advice
// keeps the ending of the name, because a file that ends in .tfrecord is always read as TFRecord.
void refuse_compressed(const std::filesystem::path& path) {
  unsigned char bytes[2] = {};
  std::ifstream in = open_to_read(path, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(bytes), sizeof bytes)) return;
  if (bytes[0] == 0x1f && bytes[1] == 0x8b) {
    const auto name = path.extension() == ".gz" ? path.stem() : path;
    fail("{}: is compressed with gzip; uncompress it: gunzip -c FILE > NEW{}", path.string(),
         name.extension().string());
  }
  // zlib's header: deflate with a window of 32 KiB, a multiple of 31.
  const bool is_zlib = bytes[0] == 0x78 && (bytes[0] * 256 + bytes[1]) % 31 == 0;
  if (is_zlib && is_named_as_data(path) && !TfrecordFile::is_one(path)) {
    fail("{}: is compressed with zlib; uncompress it: zlib-flate -uncompress < FILE > NEW{}",
         path.string(), path.extension().string());
  }
}

}  // namespace

InstanceForm detect_form(const File& file) {
  if (file.has("packed_input_len")) {
    fail(
        "{}: has several samples packed into each row ('packed_input_len'), which is not "
        "supported; use the original file, which has one sample per row",
        file.path().string());
  }
  if (file.has(schema::kOffsets)) return InstanceForm::kPacked;
  if (file.has(schema::kInputIds)) {
    return file.data_set(schema::kInputIds).is_variable() ? InstanceForm::kMlperfVariable
                                                          : InstanceForm::kMlperfFixed;
  }
  fail(
      "{}: holds no pretraining instances: neither '{}' nor '{}' among its data sets ({}); give a "
      "file made by 'strata data prepare' or MLPerf HDF5",
      file.path().string(), schema::kOffsets, schema::kInputIds, fmt::join(file.names(), ", "));
}

bool is_tfrecord(const std::filesystem::path& path) {
  refuse_compressed(path);
  if (path.extension() == ".tfrecord" || TfrecordFile::is_one(path)) return true;
  if (!parse_part(path.filename().string())) return false;
  char signature[8];
  if (open_to_read(path, std::ios::binary).read(signature, sizeof signature) &&
      std::string_view(signature, sizeof signature) == "\x89HDF\r\n\x1a\n") {
    return false;
  }
  fail(
      "{}: is neither TFRecord nor HDF5, or is damaged; if this is MLPerf's text, make data from "
      "it with 'strata data mlperf'",
      path.string());
}

std::unique_ptr<InstanceShard> open_shard(const std::filesystem::path& path, bool variable_length) {
  if (is_tfrecord(path)) return std::make_unique<TfrecordShard>(path);
  File file = File::open(path);
  switch (detect_form(file)) {
    case InstanceForm::kPacked:
      return std::make_unique<PackedShard>(std::move(file));
    case InstanceForm::kMlperfFixed:
      return std::make_unique<FixedShard>(std::move(file));
    case InstanceForm::kMlperfVariable:
      if (!variable_length) {
        fail(
            "{}: has variable-length rows, which the HDF5 library does not check: a malicious file "
            "may take over the process that reads it. If you trust the file, allow it "
            "(data.variable_length: true in a configuration, --variable-length for a command), or "
            "rewrite it with 'strata data convert --variable-length'",
            path.string());
      }
      return std::make_unique<VariableShard>(std::move(file));
    case InstanceForm::kMlperfTfrecord:
      break;  // HDF5 files never have this form
  }
  fail("{}: unknown form", path.string());
}

InstanceFileInfo describe_hdf5(const std::filesystem::path& path) {
  const File file = File::open(path);
  InstanceFileInfo info;
  info.form = detect_form(file);
  info.samples = file.data_set(schema::kNextSentence).rows();
  const auto integer = [&](const char* name) { return file.integer_attribute(name).value_or(0); };
  info.vocabulary_size = static_cast<int32_t>(integer(schema::kVocabularySizeAttribute));
  info.max_length = static_cast<int32_t>(integer(schema::kMaxLengthAttribute));
  info.max_predictions = static_cast<int32_t>(integer(schema::kMaxPredictionsAttribute));
  info.seed = static_cast<uint64_t>(integer(schema::kSeedAttribute));
  info.text_hash = file.string_attribute(schema::kTextHashAttribute).value_or("");
  info.made_from = file.string_attribute(schema::kMadeFromAttribute).value_or("");
  for (const std::string& name : file.names()) {
    info.data_sets.push_back(file.data_set(name).description());
  }
  return info;
}

}  // namespace strata::data
