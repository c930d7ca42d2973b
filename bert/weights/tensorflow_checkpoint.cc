#include "bert/weights/tensorflow_checkpoint.h"

#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>

#include <bit>
#include <memory>
#include <protozero/pbf_message.hpp>
#include <protozero/varint.hpp>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/files/files.h"
#include "base/text/counts.h"

namespace strata::bert {
namespace {

namespace fs = std::filesystem;
using protozero::tag_and_type;
using Wire = protozero::pbf_wire_type;

// Names and tags are from tensor_bundle.proto and tensor_shape.proto.
enum class HeaderTag : protozero::pbf_tag_type { kNumShards = 1, kEndianness = 2 };
enum class EntryTag : protozero::pbf_tag_type {
  kDtype = 1,
  kShape = 2,
  kShardId = 3,
  kOffset = 4,
  kSize = 5,
  kCrc32c = 6,
  kSlices = 7
};
enum class ShapeTag : protozero::pbf_tag_type { kDim = 2 };
enum class DimTag : protozero::pbf_tag_type { kSize = 1 };

constexpr int32_t kLittleEndian = 0;
constexpr int32_t kMostShards = 99999;  // limit of the five digits in file names

struct Header {
  int32_t shards = 0;
  int32_t endianness = kLittleEndian;
};

struct Entry {
  int32_t dtype = 0;
  std::vector<int64_t> shape;
  int32_t shard = 0;
  int64_t offset = 0, size = 0;
  uint32_t checksum = 0;
  bool in_slices = false;
};

Header parse_header(protozero::data_view bytes) {
  Header header;
  protozero::pbf_message<HeaderTag> message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(HeaderTag::kNumShards, Wire::varint):
        header.shards = message.get_int32();
        break;
      case tag_and_type(HeaderTag::kEndianness, Wire::varint):
        header.endianness = message.get_enum();
        break;
      default:
        message.skip();
    }
  }
  return header;
}

std::vector<int64_t> parse_shape(protozero::data_view bytes) {
  std::vector<int64_t> shape;
  protozero::pbf_message<ShapeTag> message(bytes);
  while (message.next(ShapeTag::kDim, Wire::length_delimited)) {
    protozero::pbf_message<DimTag> dimension(message.get_view());
    int64_t size = 0;
    while (dimension.next(DimTag::kSize, Wire::varint)) {
      size = dimension.get_int64();
    }
    shape.push_back(size);
  }
  return shape;
}

Entry parse_entry(protozero::data_view bytes) {
  Entry entry;
  protozero::pbf_message<EntryTag> message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(EntryTag::kDtype, Wire::varint):
        entry.dtype = message.get_enum();
        break;
      case tag_and_type(EntryTag::kShape, Wire::length_delimited):
        entry.shape = parse_shape(message.get_view());
        break;
      case tag_and_type(EntryTag::kShardId, Wire::varint):
        entry.shard = message.get_int32();
        break;
      case tag_and_type(EntryTag::kOffset, Wire::varint):
        entry.offset = message.get_int64();
        break;
      case tag_and_type(EntryTag::kSize, Wire::varint):
        entry.size = message.get_int64();
        break;
      case tag_and_type(EntryTag::kCrc32c, Wire::fixed32):
        entry.checksum = message.get_fixed32();
        break;
      case tag_and_type(EntryTag::kSlices, Wire::length_delimited):
        entry.in_slices = true;
        [[fallthrough]];
      default:
        message.skip();
    }
  }
  return entry;
}

// From tensorflow/core/framework/types.proto. Returns an empty string for dtypes that weights
// cannot have.
std::string dtype_name(int32_t dtype) {
  switch (dtype) {
    case 1:
      return "F32";
    case 2:
      return "F64";
    case 3:
      return "I32";
    case 9:
      return "I64";
    case 14:
      return "BF16";
    case 19:
      return "F16";
    default:
      return {};
  }
}

fs::path index_of(fs::path prefix) { return prefix += ".index"; }

// LevelDB trusts a table's footer, which has no checksum. The footer holds two positions in the
// file, with at most 10 bytes for each of their numbers, and a fixed number. Everything else has
// checksums.
bool has_whole_footer(const std::string& table) {
  constexpr size_t kFooterBytes = 48, kHandles = 2, kBlockTrailerBytes = 5;
  if (table.size() < kFooterBytes) return false;
  const uint64_t end_of_blocks = table.size() - kFooterBytes;
  const char* at = table.data() + end_of_blocks;
  const char* const end = table.data() + table.size();
  for (size_t handle = 0; handle < kHandles; ++handle) {
    try {
      const uint64_t offset = protozero::decode_varint(&at, end);
      const uint64_t size = protozero::decode_varint(&at, end);
      if (offset > end_of_blocks || size > end_of_blocks - offset ||
          kBlockTrailerBytes > end_of_blocks - offset - size) {
        return false;
      }
    } catch (const protozero::exception&) {
      return false;
    }
  }
  return true;
}

// Calls visit(key, value) for the records of a LevelDB table, in key order.
template <typename Visit>
void for_each_record(const fs::path& path, const Visit& visit) {
  const std::string file = path.string();
  const auto check = [&](const leveldb::Status& status) {
    if (status.ok()) return;
    fail("{}: cannot be read as the index of a TensorFlow checkpoint: {}; fetch it again", file,
         status.ToString());
  };
  leveldb::Env* env = leveldb::Env::Default();
  uint64_t bytes = 0;
  leveldb::RandomAccessFile* opened_file = nullptr;
  leveldb::Table* opened_table = nullptr;
  check(env->GetFileSize(file, &bytes));
  if (!has_whole_footer(read_file(path))) {
    check(leveldb::Status::Corruption("its last 48 bytes point outside the file"));
  }
  check(env->NewRandomAccessFile(file, &opened_file));
  const std::unique_ptr<leveldb::RandomAccessFile> owned_file(opened_file);
  leveldb::Options options;
  options.paranoid_checks = true;
  check(leveldb::Table::Open(options, opened_file, bytes, &opened_table));
  const std::unique_ptr<leveldb::Table> table(opened_table);
  leveldb::ReadOptions read_options;
  read_options.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> record(table->NewIterator(read_options));
  for (record->SeekToFirst(); record->Valid(); record->Next()) {
    const std::string key = record->key().ToString();
    try {
      visit(key, protozero::data_view(record->value().data(), record->value().size()));
    } catch (const protozero::exception& error) {
      fail("{}: the entry of \"{}\" is damaged ({}); fetch the file again", file, key,
           error.what());
    }
  }
  check(record->status());
}

struct Index {
  Header header;
  std::map<std::string, Entry> entries;
};

Index read_index(const fs::path& path) {
  Index index;
  for_each_record(path, [&](const std::string& key, protozero::data_view value) {
    if (key.empty()) {
      index.header = parse_header(value);
    } else {
      index.entries[key] = parse_entry(value);
    }
  });
  if (index.header.shards < 1 || index.header.shards > kMostShards) {
    fail("{}: not the index of a TensorFlow checkpoint: it has {}", path.string(),
         counted(index.header.shards, "data file"));
  }
  static_assert(std::endian::native == std::endian::little);
  if (index.header.endianness != kLittleEndian) {
    fail("{}: is a big-endian checkpoint, which is not supported", path.string());
  }
  if (index.entries.contains("_CHECKPOINTABLE_OBJECT_GRAPH")) {
    fail(
        "{}: is a checkpoint of TensorFlow 2; give a TensorFlow 1 checkpoint (MLPerf's tf1_ckpt) "
        "or safetensors",
        path.string());
  }
  return index;
}

}  // namespace

bool TensorFlowCheckpoint::exists(const fs::path& prefix) {
  std::error_code error;
  return fs::is_regular_file(index_of(prefix), error);
}

TensorFlowCheckpoint::TensorFlowCheckpoint(const fs::path& prefix) : TensorFile(prefix) {
  const std::string index_file = index_of(prefix).string();
  const Index index = read_index(index_file);
  std::map<fs::path, uint64_t> file_bytes;
  const auto add = [&](const std::string& name, const Entry& entry) {
    StoredTensor tensor{.dtype = dtype_name(entry.dtype), .shape = entry.shape};
    if (tensor.dtype.empty()) return;
    if (entry.in_slices) {
      fail("is stored in slices (a partitioned variable), which is not supported");
    }
    if (entry.shard < 0 || entry.shard >= index.header.shards || entry.offset < 0 ||
        entry.size < 0) {
      fail("its entry is damaged: file {}, byte {}, {} bytes; fetch the file again", entry.shard,
           entry.offset, entry.size);
    }
    fs::path file = prefix;
    file += fmt::format(".data-{:05}-of-{:05}", entry.shard, index.header.shards);
    if (!file_bytes.contains(file)) {
      std::error_code error;
      file_bytes[file] = fs::file_size(file, error);
      if (error)
        fail("{} cannot be read: {}; fetch this file and the index", file.string(),
             error.message());
    }
    tensor.begin = static_cast<uint64_t>(entry.offset);
    tensor.end = tensor.begin + static_cast<uint64_t>(entry.size);
    if (tensor.end > file_bytes[file]) {
      fail("its data ends at byte {} but {} has {}; that file is truncated, fetch it again",
           tensor.end, file.string(), file_bytes[file]);
    }
    const uint64_t bytes = tensor_bytes(tensor.dtype, tensor.shape, file_bytes[file]);
    if (bytes != tensor.end - tensor.begin) {
      fail("its shape needs {}, but its entry gives {}", counted(bytes, "byte"),
           count_text(entry.size));
    }
    sources_[name] = {file, entry.checksum};
    tensors_[name] = std::move(tensor);
  };
  for (const auto& [name, entry] : index.entries) {
    try {
      add(name, entry);
    } catch (const Error& error) {
      fail("{}: tensor \"{}\": {}", index_file, name, error.what());
    }
  }
}

std::string TensorFlowCheckpoint::read_bytes(const std::string& name,
                                             const StoredTensor& tensor) const {
  const Source& source = sources_.at(name);
  std::string bytes = read_tensor_bytes(source.file, name, tensor.begin, tensor.end);
  if (masked_crc32c(bytes) != source.checksum) {
    fail(
        "{}: the bytes {} to {} of tensor \"{}\" do not match their checksum; fetch the file again",
        source.file.string(), tensor.begin, tensor.end, name);
  }
  return bytes;
}

}  // namespace strata::bert
