#include "bert/weights/tensorflow_checkpoint.h"

#include <fmt/format.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <cstring>
#include <functional>
#include <memory>
#include <protozero/buffer_string.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "base/files/crc32c.h"
#include "base/files/files.h"
#include "bert/weights/weights.h"
#include "tests/bert/errors.h"
#include "tests/bert/mlperf_reference.h"

namespace strata::bert {
namespace {

namespace fs = std::filesystem;

// Uses a copy of the checkpoint that tests/golden/reference/mlperf_reference.py wrote with
// TensorFlow.
class TensorFlowCheckpointTest : public testing::Test {
 protected:
  TensorFlowCheckpointTest() {
    fs::copy_file(reference_checkpoint() + kIndex, index(), fs::copy_options::overwrite_existing);
    fs::copy_file(reference_checkpoint() + kData, data(), fs::copy_options::overwrite_existing);
  }
  ~TensorFlowCheckpointTest() override {
    fs::remove(index());
    fs::remove(data());
  }

  fs::path prefix() const { return file_.path(); }
  fs::path index() const { return prefix().string() + kIndex; }
  fs::path data() const { return prefix().string() + kData; }
  void change(const fs::path& path, const std::function<void(std::string&)>& change) {
    std::string bytes = read_file(path);
    change(bytes);
    write_file_atomically(path, bytes);
  }
  std::vector<float> read(const std::string& name, size_t size) {
    std::vector<float> values(size);
    TensorFlowCheckpoint(prefix()).read(name, values);
    return values;
  }

  static constexpr const char* kIndex = ".index";
  static constexpr const char* kData = ".data-00000-of-00001";
  TemporaryFile file_{".ckpt"};
};

TEST_F(TensorFlowCheckpointTest, ListsVariablesAsTensorFlowWroteThem) {
  const TensorFlowCheckpoint file(prefix());
  const auto shape = [&](const char* name) { return file.tensors().at(name).shape; };
  EXPECT_EQ(shape("bert/embeddings/word_embeddings"), (std::vector<int64_t>{182, 32}));
  EXPECT_EQ(shape("bert/encoder/layer_1/intermediate/dense/kernel"),
            (std::vector<int64_t>{32, 64}));
  EXPECT_EQ(shape("global_step"), std::vector<int64_t>{});
  EXPECT_EQ(file.tensors().at("global_step").dtype, "I64");
  EXPECT_EQ(file.tensors().at("global_step").size(), 1);
  EXPECT_EQ(file.tensors().at("cls/predictions/output_bias").dtype, "F32");
}

TEST_F(TensorFlowCheckpointTest, ADamagedTensorIsRefusedWhenItIsRead) {
  const std::string name = "bert/pooler/dense/kernel";
  const std::vector<float> values = read(name, 32 * 32);
  const uint64_t begin = TensorFlowCheckpoint(prefix()).tensors().at(name).begin;
  change(data(), [&](std::string& bytes) { bytes[begin + 5] ^= 0x10; });
  expect_error([&] { read(name, 32 * 32); },
               {data().string(), name, "bytes " + std::to_string(begin), "checksum"});
  read("bert/pooler/dense/bias", 32);
}

TEST_F(TensorFlowCheckpointTest, ATruncatedFileIsRefused) {
  change(data(), [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  expect_error([&] { TensorFlowCheckpoint{prefix()}; },
               {index().string(), "ends at byte", data().string(), "truncated"});
  change(index(), [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string(), "fetch it again"});
  change(index(), [](std::string& bytes) { bytes.resize(20); });
  expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string(), "fetch it again"});
}

// LevelDB trusts these four numbers, which have no checksum.
TEST_F(TensorFlowCheckpointTest, DamagedNumbersAtTheEndOfTheIndexAreRefused) {
  const std::string whole = read_file(index());
  const uint64_t blocks = whole.size() - 48;
  const std::vector<std::vector<uint64_t>> numbers = {{0, 0, 0, uint64_t{1} << 36},
                                                      {0, 0, 0, uint64_t{1} << 63},
                                                      {0, 0, 0, ~uint64_t{0} - 4},
                                                      {0, 0, ~uint64_t{0} - 7, 8},
                                                      {0, 0, ~uint64_t{0} - 999, 1500},
                                                      {0, 0, 0, blocks},
                                                      {0, 0, blocks + 1, 0},
                                                      {0, ~uint64_t{0} - 4, 0, 8},
                                                      {~uint64_t{0}, 5, ~uint64_t{0}, 5}};
  for (const auto& four : numbers) {
    change(index(), [&](std::string& bytes) {
      std::string footer;
      for (const uint64_t number : four) protozero::add_varint_to_buffer(&footer, number);
      footer.resize(40);
      bytes = whole.substr(0, blocks) + footer + whole.substr(whole.size() - 8);
    });
    expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string(), "fetch it again"});
  }
  change(index(), [&](std::string& bytes) {
    bytes = whole.substr(0, blocks) + std::string(40, '\xff') + whole.substr(whole.size() - 8);
  });
  expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string(), "fetch it again"});
}

TEST_F(TensorFlowCheckpointTest, EachDamagedByteOfTheIndexIsRefusedOrHarmless) {
  const std::string whole = read_file(index());
  const TensorFlowCheckpoint undamaged(prefix());
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    change(index(), [&](std::string& bytes) {
      bytes = whole;
      bytes[at] ^= 0x41;
    });
    try {
      const TensorFlowCheckpoint file(prefix());
      EXPECT_EQ(file.tensors().size(), undamaged.tensors().size()) << "byte " << at;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole.size()) * 9 / 10);
}

TEST_F(TensorFlowCheckpointTest, MissingFilesAreNamed) {
  fs::remove(data());
  expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string(), data().string()});
  fs::remove(index());
  EXPECT_FALSE(TensorFlowCheckpoint::exists(prefix()));
  expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string()});
}

std::string message(const std::function<void(protozero::pbf_writer&)>& fill) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  fill(writer);
  return bytes;
}

// Writes an index of one variable of 20 floats in the format of tensor_bundle.proto; `fill` writes
// their location.
void write_index(const fs::path& path, const std::string& name,
                 const std::function<void(protozero::pbf_writer&)>& fill) {
  const std::string header = message([](auto& of) { of.add_int32(1, 1); });  // number of data files
  const std::string shape = message([&](auto& of) {
    of.add_message(2, message([](auto& dimension) { dimension.add_int64(1, 20); }));
  });
  const std::string entry = message([&](auto& of) {
    of.add_int32(1, 1);  // DT_FLOAT
    of.add_message(2, shape);
    fill(of);
  });
  leveldb::WritableFile* opened = nullptr;
  ASSERT_TRUE(leveldb::Env::Default()->NewWritableFile(path.string(), &opened).ok());
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  leveldb::TableBuilder table(leveldb::Options(), file.get());
  table.Add("", header);
  table.Add(name, entry);
  ASSERT_TRUE(table.Finish().ok());
  ASSERT_TRUE(file->Close().ok());
}

TEST_F(TensorFlowCheckpointTest, AVariableInSlicesIsRefused) {
  write_index(index(), "partitioned", [](auto& of) {
    for (const int64_t begin : {0, 10}) {
      const std::string extent = message([&](auto& range) {
        range.add_int64(1, begin);
        range.add_int64(2, 10);
      });
      of.add_message(7, message([&](auto& slice) { slice.add_message(1, extent); }));
    }
  });
  expect_error([&] { TensorFlowCheckpoint{prefix()}; },
               {index().string(), "\"partitioned\"", "stored in slices"});
}

// The shape needs 80 bytes, the size of the data file.
TEST_F(TensorFlowCheckpointTest, AnImpossibleTensorLocationIsRefused) {
  struct Place {
    int32_t file;
    int64_t begin, bytes;
    bool exists = false;
  };
  for (const Place& place : {Place{0, 4, 80, true}, Place{-1, 4, 80}, Place{1, 4, 80},
                             Place{0, -4, 80}, Place{0, 4, -80}}) {
    write_index(index(), "elsewhere", [&](auto& of) {
      of.add_int32(3, place.file);
      of.add_int64(4, place.begin);
      of.add_int64(5, place.bytes);
    });
    if (place.exists) {
      EXPECT_EQ(TensorFlowCheckpoint(prefix()).tensors().at("elsewhere").begin, 4u);
      continue;
    }
    expect_error([&] { TensorFlowCheckpoint{prefix()}; },
                 {index().string(), "\"elsewhere\"", "its entry is damaged",
                  fmt::format("file {}, byte {}, {} bytes", place.file, place.begin, place.bytes)});
  }
}

TEST_F(TensorFlowCheckpointTest, OtherFilesAreRefused) {
  write_file_atomically(index(), std::string(4000, 'x'));
  expect_error([&] { TensorFlowCheckpoint{prefix()}; }, {index().string(), "fetch it again"});
}

}  // namespace
}  // namespace strata::bert
