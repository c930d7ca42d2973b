#include "data/files/sample_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "data/files/instance_file.h"
#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class SampleIndexTest : public testing::Test {
 protected:
  SampleIndexTest() {
    std::mt19937 random(3);
    for (int i = 0; i < 5000; ++i) {
      lengths_.push_back(static_cast<uint16_t>(i % 50 == 0 ? 65535 : 1 + random() % 512));
      masked_counts_.push_back(
          static_cast<uint16_t>(std::min<uint32_t>(lengths_.back(), random() % 5)));
    }
  }
  std::string open_error() const {
    return error_of([&] { SampleIndex::open(path_, files_); });
  }
  // Returns the error for a file with the byte at `offset` changed.
  std::string error_with_byte(size_t offset) const {
    std::string bytes = read_file(path_);
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
    write_file_atomically(path_, bytes);
    return open_error();
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "x.index";
  std::vector<uint16_t> lengths_, masked_counts_;
  std::vector<IndexedFile> files_ = {{"a.hdf5", 100, 2000}, {"b.hdf5", 200, 3000}};
};

// Compares with a plain sort.
TEST_F(SampleIndexTest, SamplesAreSortedByLengthThenByMaskedPositions) {
  std::vector<uint32_t> expected(lengths_.size());
  std::iota(expected.begin(), expected.end(), 0u);
  std::ranges::stable_sort(expected, {}, [this](uint32_t sample) {
    return std::tuple(lengths_[sample], masked_counts_[sample]);
  });
  const SampleIndex built(lengths_, masked_counts_);
  built.write(path_, files_);
  const SampleIndex opened = SampleIndex::open(path_, files_);
  for (const SampleIndex* index : {&built, &opened}) {
    ASSERT_EQ(index->size(), lengths_.size());
    EXPECT_EQ(index->classes().samples(), lengths_.size());
    EXPECT_TRUE(std::ranges::equal(index->lengths(), lengths_));
    EXPECT_TRUE(std::ranges::equal(index->masked_counts(), masked_counts_));
    for (uint32_t sorted_index = 0; sorted_index < index->size(); ++sorted_index) {
      const uint32_t sample = index->sample_at(sorted_index);
      ASSERT_EQ(sample, expected[sorted_index]) << sorted_index;
      ASSERT_EQ(index->classes().of(sorted_index).length, lengths_[sample]);
      ASSERT_EQ(index->classes().of(sorted_index).masked, masked_counts_[sample]);
    }
  }
  EXPECT_TRUE(std::ranges::equal(built.classes().all(), opened.classes().all()));
  EXPECT_TRUE(std::ranges::equal(opened.files(), files_));
}

TEST_F(SampleIndexTest, DamagedIndexesAreRefused) {
  const SampleIndex index(lengths_, masked_counts_);
  index.write(path_, files_);
  const size_t size = read_file(path_).size();
  EXPECT_TRUE(contains(error_with_byte(0), "not a sample index"));
  index.write(path_, files_);
  EXPECT_TRUE(contains(error_with_byte(8), "version"));
  for (size_t offset = 12; offset < 400; offset += 7) {
    index.write(path_, files_);
    const std::string error = error_with_byte(offset);
    EXPECT_TRUE(contains(error, "'strata data index'")) << offset << ": " << error;
  }
  for (const size_t cut : {size_t{0}, size_t{7}, size_t{40}, size_t{300}, size - 1}) {
    index.write(path_, files_);
    std::filesystem::resize_file(path_, cut);
    EXPECT_TRUE(contains(open_error(), "x.index: ")) << cut;
  }
  // The arrays after the head are checked on use.
  index.write(path_, files_);
  std::string bytes = read_file(path_);
  // Arrays begin on pages. The last two have 10000 bytes each, the order 20000.
  bytes[bytes.size() - 10000 - 12288 - 20480 + 4001] ^= 0x7f;
  write_file_atomically(path_, bytes);
  const SampleIndex damaged = SampleIndex::open(path_, files_);
  EXPECT_TRUE(contains(error_of([&] {
                         for (uint32_t sorted_index = 0; sorted_index < damaged.size();
                              ++sorted_index) {
                           damaged.sample_at(sorted_index);
                         }
                       }),
                       "damaged at sorted index"));
}

TEST_F(SampleIndexTest, AnIndexOfOtherDataIsNamed) {
  SampleIndex(lengths_, masked_counts_).write(path_, files_);
  files_[1].bytes = 201;
  EXPECT_TRUE(
      contains(open_error(), "is stale: b.hdf5 had 200 bytes when the index was made, and has 201"))
      << open_error();
  files_[1] = {"c.hdf5", 200, 3000};
  EXPECT_TRUE(contains(open_error(), "b.hdf5 in place of c.hdf5")) << open_error();
  files_.pop_back();
  EXPECT_TRUE(contains(open_error(), "for 2 files, but there are 1")) << open_error();
}

TEST_F(SampleIndexTest, AMissingFileOrAFolderIsNamed) {
  EXPECT_TRUE(contains(open_error(), "x.index: cannot be opened"));
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(contains(open_error(), "x.index: is not a regular file"));
}

TEST_F(SampleIndexTest, ClassesCanBeWrittenAsTextAndReadBack) {
  const SampleIndex index(lengths_, masked_counts_);
  write_file_atomically(path_, to_text(index.classes()));
  const SampleClasses read = read_sample_classes(path_);
  EXPECT_TRUE(std::ranges::equal(read.all(), index.classes().all()));
  for (const char* wrong : {"0 0 1", "5 6 1", "5 1", "5 1 1 1", "5 -1 1", "5 1 0", "65536 1 1",
                            "5 1 4294967296", "many"}) {
    write_file_atomically(path_, fmt::format("7 1 1\n{}\n", wrong));
    const std::string error = error_of([&] { read_sample_classes(path_); });
    EXPECT_TRUE(contains(error, fmt::format("x.index:2: \"{}\"", wrong))) << error;
  }
  write_file_atomically(path_, "# nothing\n");
  EXPECT_TRUE(contains(error_of([&] { read_sample_classes(path_); }), "no samples"));
}

// A data set reads the same with and without its index.
TEST_F(SampleIndexTest, ADataSetIsReadThroughItsIndex) {
  const std::filesystem::path folder = directory_ / "data";
  std::filesystem::create_directory(folder);
  for (const char* name : {"a.hdf5", "b.hdf5", "c.hdf5"}) {
    write_instances(folder / name, sample_instances(10 + name[0] - 'a'),
                    sample_info(InstanceForm::kMlperfFixed));
  }
  const std::vector<std::filesystem::path> paths = {folder, folder / "b.hdf5"};
  const auto scanned = open_instances(paths);
  EXPECT_EQ(write_index(paths), 10u + 11 + 12 + 11);
  ASSERT_TRUE(std::filesystem::exists(folder / "samples.index"));
  const auto indexed = open_instances(paths);
  EXPECT_TRUE(std::ranges::equal(indexed->lengths(), scanned->lengths()));
  std::vector<uint32_t> all(scanned->size());
  std::iota(all.rbegin(), all.rend(), 0u);
  PackedBatch a, b;
  indexed->read(all, a);
  scanned->read(all, b);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.masked_ids, b.masked_ids);
  // The index does not match the folder alone.
  EXPECT_TRUE(contains(error_of([&] { open_instances(folder); }), "is the index of other data"));
}

// The length is unchanged but samples differ, so only reading detects it.
TEST_F(SampleIndexTest, AStaleIndexIsNamedWhenSamplesAreRead) {
  const std::filesystem::path file = directory_ / "a.hdf5";
  const Instances samples = sample_instances(10);
  Instances others;
  for (size_t i = samples.size(); i-- > 0;) others.append(samples, i);
  write_instances(file, samples, sample_info(InstanceForm::kPacked));
  write_index(std::span(&file, 1));
  const std::string index = read_file(index_path(file));
  const auto bytes = std::filesystem::file_size(file);
  write_instances(file, others, sample_info(InstanceForm::kPacked));
  ASSERT_EQ(std::filesystem::file_size(file), bytes);
  write_file_atomically(index_path(file), index);
  const auto source = open_instances(file);
  std::vector<uint32_t> all(source->size());
  std::iota(all.begin(), all.end(), 0u);
  PackedBatch batch;
  const std::string error = error_of([&] { source->read(all, batch); });
  EXPECT_TRUE(contains(error, "a.hdf5.index is stale: make it again with 'strata data index'"))
      << error;
}

TEST_F(SampleIndexTest, LengthsOfTheIndexAreCheckedAgainstTheModel) {
  const std::filesystem::path file = directory_ / "a.hdf5";
  write_instances(file, sample_instances(10), sample_info(InstanceForm::kPacked));
  write_index(std::span(&file, 1));
  EXPECT_TRUE(contains(error_of([&] { open_instances(file, {kSampleVocabulary, 5}); }), "1 to 5"));
  write_instances(file, sample_instances(11), sample_info(InstanceForm::kPacked));
  EXPECT_EQ(open_instances(file)->size(), 11u) << "a new file has no index yet";
}

}  // namespace
}  // namespace strata::data
