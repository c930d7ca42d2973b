#include "training/checkpoint/checkpoint.h"

#include <cctype>
#include <cstring>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/host_backend.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "training/checkpoint/checkpoint_writer.h"

namespace strata::training {
namespace {

using testing_support::error_of;

// An array of ten floats in a backend's memory, divided among two ranks.
class Checkpoint : public testing_support::TemporaryDirectory {
 protected:
  Checkpoint() { std::iota(values_.begin(), values_.end(), 1.0f); }

  StateArray array_of(int rank, int ranks) {
    return {
        "x", {values_.data(), device::DType::kF32, 1, 10}, {{0, 10}}, {shard_of(10, rank, ranks)}};
  }
  void write(int rank, int ranks, int64_t step = 3, const std::string& note = "{\"a\": \"note\"}") {
    CheckpointWriter writer(backend_);
    writer.begin(part_path(directory_, rank),
                 {.step = step,
                  .parameters = 10,
                  .plan = {4, 6, 2},
                  .rank = rank,
                  .ranks = ranks,
                  .note = note},
                 {.arrays = {array_of(rank, ranks)}});
    writer.finish();
  }

  // Does not flush to disk, which would take time.
  static void overwrite(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  testing_support::HostBackend backend_;
  std::vector<float> values_ = std::vector<float>(10);
};

TEST_F(Checkpoint, IsRestoredFromThePartsOfAllRanks) {
  write(0, 2);
  write(1, 2);
  const std::vector<float> written = values_;
  const auto parts = open_checkpoint(directory_);
  ASSERT_EQ(parts.size(), 2u);
  const CheckpointHeader& header = parts[1].header();
  EXPECT_EQ(header.step, 3);
  EXPECT_EQ(header.parameters, 10);
  EXPECT_EQ(header.plan.ranks, 4);
  EXPECT_EQ(header.plan.batch_per_rank, 6);
  EXPECT_EQ(header.plan.micro_batches, 2);
  EXPECT_EQ(header.note, "{\"a\": \"note\"}");
  for (const CheckpointFile& part : parts) part.verify();
  values_.assign(10, 0);
  restore(parts, {array_of(0, 1)}, backend_);
  EXPECT_EQ(values_, written);
}

// A rank that shards an array holds several ranges, one after another.
TEST_F(Checkpoint, IsRestoredIntoTheRangesOfARank) {
  write(0, 1);
  std::vector<float> held(5);
  const StateArray array{
      "x", {held.data(), device::DType::kF32, 1, 5}, {{1, 3}, {6, 9}}, {{1, 3}, {6, 9}}};
  restore(open_checkpoint(directory_), {array}, backend_);
  EXPECT_EQ(held, (std::vector<float>{2, 3, 7, 8, 9}));
  CheckpointWriter writer(backend_);
  writer.begin(part_path(directory_, 0), {.step = 4, .parameters = 10}, {.arrays = {array}});
  writer.finish();
  const auto parts = open_checkpoint(directory_);
  ASSERT_EQ(parts[0].pieces().size(), 2u);
  for (const Piece& piece : parts[0].pieces()) {
    float first = 0;
    std::memcpy(&first, piece.bytes.data(), sizeof first);
    EXPECT_EQ(first, static_cast<float>(piece.range.begin + 1));
  }
}

TEST_F(Checkpoint, EveryChangedByteAndEveryTruncationIsNoticed) {
  write(0, 1);
  const std::filesystem::path path = part_path(directory_, 0);
  const std::string whole = read_file(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    overwrite(path, damaged);
    EXPECT_THROW(CheckpointFile(path).verify(), Error) << "byte " << i;
    overwrite(path, whole.substr(0, i));
    EXPECT_THROW(CheckpointFile(path).verify(), Error) << i << " bytes";
  }
}

TEST_F(Checkpoint, AMissingOrForeignPartIsNamed) {
  write(0, 2);
  EXPECT_THAT(error_of([&] { open_checkpoint(directory_); }), HasSubstr("rank_1"));
  write(1, 2, 4);
  const std::string error = error_of([&] { open_checkpoint(directory_); });
  EXPECT_THAT(error, HasSubstr("rank_1"));
  EXPECT_THAT(error, HasSubstr("after step 4"));
  write(1, 3);
  EXPECT_THAT(error_of([&] { open_checkpoint(directory_); }), HasSubstr("of 3"));
}

TEST_F(Checkpoint, PartsOfTwoRunsAreRefused) {
  write(0, 2);
  write(1, 2, 3, "another note");
  EXPECT_THAT(error_of([&] { open_checkpoint(directory_); }), HasSubstr("of this run"));
}

TEST_F(Checkpoint, AnotherVersionIsRefused) {
  write(0, 1);
  std::string file = read_file(part_path(directory_, 0));
  const std::string format = "strata checkpoint ";
  const size_t version = file.find(format) + format.size();
  ASSERT_LT(version, file.size());
  ASSERT_TRUE(std::isdigit(static_cast<unsigned char>(file[version])));
  file[version] = '0';
  overwrite(part_path(directory_, 0), file);
  const std::string error = error_of([&] { open_checkpoint(directory_); });
  EXPECT_THAT(error, HasSubstr(part_path(directory_, 0).string()));
  EXPECT_THAT(error, HasSubstr("not a checkpoint of this version"));
  EXPECT_THAT(error, HasSubstr("\"strata checkpoint 0\""));
}

TEST_F(Checkpoint, BytesAfterTheChecksumAreNoticed) {
  write(0, 1);
  const std::filesystem::path path = part_path(directory_, 0);
  overwrite(path, read_file(path) + "more");
  EXPECT_EQ(error_of([&] { open_checkpoint(directory_); }),
            path.string() + ": does not end with its checksum");
}

// A checksum that was computed afterwards does not detect this damage.
TEST_F(Checkpoint, PiecesThatAreDuplicateOrBeyondTheModelAreRefused) {
  const auto write_pieces = [&](std::vector<Piece> pieces) {
    write_checkpoint_file(part_path(directory_, 0), {.step = 3, .parameters = 10}, pieces);
  };
  const auto bytes = std::as_bytes(std::span(values_));
  const auto expect_no_part = [&](const std::string& begin) {
    EXPECT_THAT(error_of([&] { open_checkpoint(directory_); }), HasSubstr("not part")) << begin;
  };
  constexpr int64_t kLarge = 1'000'000'000'000'000'000;
  for (const int64_t begin : {int64_t{1}, int64_t{11}, kLarge}) {
    write_pieces({{"x", device::DType::kF32, {begin, begin + 10}, bytes}});
    expect_no_part(std::to_string(begin));
  }
  std::string file = read_file(part_path(directory_, 0));
  const std::string large = std::to_string(kLarge), largest = std::to_string(INT64_MAX - 7);
  file.replace(file.find(large), large.size(), largest);
  overwrite(part_path(directory_, 0), file);
  expect_no_part(largest);
  write_pieces({{"x", device::DType::kF32, {0, 5}, bytes.first(20)},
                {"x", device::DType::kF32, {4, 9}, bytes.first(20)}});
  const auto parts = open_checkpoint(directory_);
  EXPECT_THAT(error_of([&] { restore(parts, {array_of(0, 1)}, backend_); }), HasSubstr("twice"));
}

TEST_F(Checkpoint, MissingArraysAreNamed) {
  write(0, 1);
  StateArray other = array_of(0, 1);
  other.name = "y";
  EXPECT_THAT(error_of([&] { restore(open_checkpoint(directory_), {other}, backend_); }),
              HasSubstr("10 elements of y"));
}

TEST_F(Checkpoint, AnErrorOfTheThreadComesWithFinish) {
  CheckpointWriter writer(backend_);
  write_file_atomically(directory_ / "file", "in the way");
  writer.begin(directory_ / "file" / "part", {}, {.arrays = {array_of(0, 1)}});
  EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("file"));
  writer.begin(part_path(directory_, 0), {.step = 9, .parameters = 10},
               {.arrays = {array_of(0, 1)}});
  writer.finish();
  EXPECT_EQ(open_checkpoint(directory_)[0].header().step, 9);
}

}  // namespace
}  // namespace strata::training
