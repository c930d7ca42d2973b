// Reads the index of a TensorFlow checkpoint with the data of tests/golden, including all tensors.
// The first byte chooses the input: the file's bytes, the same with corrected checksums, or records
// that LevelDB writes to a table.
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>
#include <string>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/files/files.h"
#include "bert/weights/tensorflow_checkpoint.h"
#include "tests/support/fuzz_file.h"

namespace {

using namespace strata;

constexpr size_t kFooterBytes = 48, kTrailerBytes = 5;

struct Block {
  uint64_t offset = 0, size = 0;
};

std::optional<Block> parse_block(const char** at, const char* end) {
  try {
    const uint64_t offset = protozero::decode_varint(at, end);
    return Block{offset, protozero::decode_varint(at, end)};
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

// Corrects the checksum of a block. Returns false if the block does not lie in the table.
bool repair(std::string& table, const Block& block) {
  if (block.offset > table.size() || block.size > table.size() - block.offset ||
      kTrailerBytes > table.size() - block.offset - block.size) {
    return false;
  }
  const uint32_t checksum = masked_crc32c({table.data() + block.offset, block.size + 1});
  std::memcpy(table.data() + block.offset + block.size + 1, &checksum, sizeof checksum);
  return true;
}

// Corrects the checksums of all blocks that the index names
// (github.com/google/leveldb/blob/main/doc/table_format.md).
void repair(std::string& table) {
  if (table.size() < kFooterBytes) return;
  const char* at = table.data() + table.size() - kFooterBytes;
  const char* end = table.data() + table.size();
  const auto meta = parse_block(&at, end);
  const auto index = parse_block(&at, end);
  if (!meta || !index) return;
  repair(table, *meta);
  if (!repair(table, *index)) return;
  at = table.data() + index->offset;
  end = at + index->size;
  try {
    while (at != end) {
      protozero::decode_varint(&at, end);  // bytes shared with the previous key
      const uint64_t key = protozero::decode_varint(&at, end);
      const uint64_t value = protozero::decode_varint(&at, end);
      const auto left = static_cast<uint64_t>(end - at);
      if (key > left || value > left - key) break;
      const char* handle = at + key;
      at = handle + value;
      const auto block = parse_block(&handle, at);
      if (block) repair(table, *block);
    }
  } catch (const protozero::exception&) {
  }
  repair(table, *index);
}

// Reads records of a key and a value, each preceded by a byte with its size.
void write_table(std::string_view bytes, const std::string& path) {
  const auto take = [&] {
    const size_t size = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(bytes.empty() ? 0 : 1);
    const std::string part(bytes.substr(0, size));
    bytes.remove_prefix(part.size());
    return part;
  };
  std::map<std::string, std::string> records;
  while (!bytes.empty()) {
    const std::string key = take();
    records[key] = take();
  }
  leveldb::WritableFile* opened = nullptr;
  leveldb::Env::Default()->NewWritableFile(path, &opened);
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  leveldb::TableBuilder builder(leveldb::Options(), opened);
  for (const auto& [key, value] : records) builder.Add(key, value);
  builder.Finish();
  file->Close();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const fuzz::FuzzFile index(".index"), values(".data-00000-of-00001");
  [[maybe_unused]] static const bool written = [] {
    values.write(read_file(STRATA_SOURCE_DIR
                           "/tests/golden/reference/mlperf_reference.ckpt.data-00000-of-00001"));
    return true;
  }();
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 2) {
    write_table(bytes, index.path().string());
  } else {
    if (data[0] % 3 == 1) repair(bytes);
    index.write(bytes);
  }
  try {
    std::filesystem::path prefix = index.path();
    const bert::TensorFlowCheckpoint checkpoint(prefix.replace_extension());
    for (const auto& [name, tensor] : checkpoint.tensors()) {
      std::vector<float> numbers(static_cast<size_t>(tensor.size()));
      try {
        checkpoint.read(name, numbers);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
