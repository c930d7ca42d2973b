#include "data/files/instance_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class InstanceFile : public testing::Test {
 protected:
  void write(const std::string& name, const Instances& instances,
             InstanceForm form = InstanceForm::kPacked) {
    write_instances(directory_ / name, instances, sample_info(form));
  }
  // Returns the error of reading sample `i` of x.hdf5 after `damage`.
  template <typename Damage>
  std::string read_error(uint32_t i, const Damage& damage) {
    Instances instances = sample_instances(5);
    damage(instances);
    write("x.hdf5", instances);
    const auto source = open_instances(directory_ / "x.hdf5", {kSampleVocabulary, 40});
    PackedBatch batch;
    return error_of([&] { source->read(std::vector<uint32_t>{0, i}, batch); });
  }

  TemporaryDirectory directory_;
};

TEST_F(InstanceFile, TheIndexGivesLengthsAndMaskedCounts) {
  const Instances instances = sample_instances(30);
  for (const InstanceForm form : kAllForms) {
    write("x.hdf5", instances, form);
    const auto source = open_instances(directory_ / "x.hdf5", {.variable_length = true});
    ASSERT_EQ(source->size(), 30u);
    for (size_t i = 0; i < 30; ++i) {
      EXPECT_EQ(static_cast<uint64_t>(source->lengths()[i]),
                instances.token_offsets[i + 1] - instances.token_offsets[i]);
      EXPECT_EQ(static_cast<uint64_t>(source->masked_counts()[i]),
                instances.masked_offsets[i + 1] - instances.masked_offsets[i]);
    }
  }
}

TEST_F(InstanceFile, AnyOrderAndRepeatsArePackedWithoutPadding) {
  const Instances instances = sample_instances(30);
  write("x.hdf5", instances);
  const auto source = open_instances(directory_ / "x.hdf5");
  PackedBatch batch;
  source->read(std::vector<uint32_t>{29, 3, 3, 0}, batch);
  EXPECT_EQ(batch.sample_ids, (std::vector<uint64_t>{29, 3, 3, 0}));
  ASSERT_EQ(batch.cu_seqlens.size(), 5u);
  EXPECT_EQ(batch.cu_seqlens.back(), static_cast<int32_t>(batch.tokens.size()));
  const Instances read = to_instances(batch);
  for (size_t i = 0; i < 4; ++i) {
    const size_t from = batch.sample_ids[i];
    EXPECT_EQ(batch.cu_seqlens[i + 1] - batch.cu_seqlens[i], source->lengths()[from]);
    EXPECT_EQ(read.first_lengths[i], instances.first_lengths[from]);
    EXPECT_EQ(batch.next_sentence[i], instances.next_sentence[from]);
    EXPECT_EQ(unmask(read, i).first, unmask(instances, from).first);
    EXPECT_EQ(unmask(read, i).second, unmask(instances, from).second);
    for (int32_t t = batch.cu_seqlens[i]; t < batch.cu_seqlens[i + 1]; ++t) {
      EXPECT_EQ(batch.positions[static_cast<size_t>(t)], t - batch.cu_seqlens[i]);
    }
  }
  EXPECT_TRUE(std::is_sorted(batch.masked_positions.begin(), batch.masked_positions.end()));
  source->read(std::vector<uint32_t>{1}, batch);  // the old contents are gone
  EXPECT_EQ(batch.sample_ids, (std::vector<uint64_t>{1}));
  EXPECT_EQ(batch.tokens.size(), static_cast<size_t>(source->lengths()[1]));
}

TEST_F(InstanceFile, ADirectoryOfShardsIsOneDataSetInOrderOfName) {
  write("part_b.hdf5", sample_instances(4, 1), InstanceForm::kMlperfFixed);
  write("part_a.hdf5", sample_instances(3, 0));
  write("part_c.h5", sample_instances(5, 2), InstanceForm::kMlperfVariable);
  write_file_atomically(directory_ / "notes.txt", "not data");
  const auto source = open_instances(directory_.path(), {.variable_length = true});
  EXPECT_EQ(source->size(), 12u);
  PackedBatch batch;
  source->read(std::vector<uint32_t>{0, 3, 7, 11}, batch);
  const Instances read = to_instances(batch);
  EXPECT_EQ(unmask(read, 0).first, unmask(sample_instances(3, 0), 0).first);
  EXPECT_EQ(unmask(read, 1).first, unmask(sample_instances(4, 1), 0).first);
  EXPECT_EQ(unmask(read, 2).first, unmask(sample_instances(5, 2), 0).first);
  EXPECT_EQ(unmask(read, 3).first, unmask(sample_instances(5, 2), 4).first);
}

TEST_F(InstanceFile, ADataSetMayHaveMoreShardsThanOpenFiles) {
  const TemporaryDirectory shards;
  for (int i = 0; i < 3; ++i) write(fmt::format("{}.hdf5", i), sample_instances(2, i));
  for (int i = 0; i < 300; ++i) {
    std::filesystem::create_hard_link(directory_ / fmt::format("{}.hdf5", i % 3),
                                      shards / fmt::format("part_{:05}.hdf5", i));
  }
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit limited{280, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &limited);
  const auto source = open_instances(shards.path());
  PackedBatch batch;
  std::vector<uint32_t> backwards = all_samples(*source);
  std::reverse(backwards.begin(), backwards.end());
  source->read(backwards, batch);
  setrlimit(RLIMIT_NOFILE, &before);
  const Instances read = to_instances(batch);
  for (uint32_t i = 0; i < 600; i += 97) {
    EXPECT_EQ(unmask(read, 599 - i).first,
              unmask(sample_instances(2, static_cast<int32_t>(i / 2 % 3)), i % 2).first);
  }
}

// Counts files that the process that reads HDF5 holds open.
size_t open_files_in(const std::filesystem::path& folder) {
  std::ifstream children("/proc/thread-self/children");
  int reader = 0;
  children >> reader;
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", reader))) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::read_symlink(entry.path(), error);
    if (file.parent_path() == folder) ++count;
  }
  return count;
}

TEST_F(InstanceFile, AsManyShardsStayOpenAsTheProcessMayOpenFiles) {
  const TemporaryDirectory shards, others;
  write("one.hdf5", sample_instances(1));
  const auto copy = [&](const TemporaryDirectory& to, int count) {
    for (int i = 0; i < count; ++i) {
      std::filesystem::copy_file(directory_ / "one.hdf5", to / fmt::format("part_{:05}.hdf5", i));
    }
  };
  copy(shards, 530);
  copy(others, 40);
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  if (before.rlim_max < 1030) GTEST_SKIP() << "this process may open few files";
  const auto open_files = [&](rlim_t limit, size_t beside) {
    const rlimit limited{limit, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limited);
    PackedBatch batch;
    const auto source = open_instances(shards.path());
    source->read(all_samples(*source), batch);
    EXPECT_EQ(batch.sample_ids.size(), 530u);
    const size_t first = open_files_in(shards.path());
    // A second data set may open only a few in addition.
    const auto other = open_instances(others.path());
    other->read(all_samples(*other), batch);
    EXPECT_EQ(open_files_in(others.path()), beside);
    setrlimit(RLIMIT_NOFILE, &before);
    return first;
  };
  EXPECT_EQ(open_files(1030, 40), 512u);
  EXPECT_EQ(open_files(200, 12), 100u);
}

TEST_F(InstanceFile, MissingAndEmptyDataSetsAreRefused) {
  EXPECT_TRUE(contains(error_of([&] { open_instances(directory_ / "none.hdf5"); }),
                       "none.hdf5: cannot open: No such file or directory"));
  EXPECT_TRUE(contains(error_of([&] { open_instances(directory_.path()); }),
                       "holds no *.hdf5, *.h5, *.tfrecord or part-* file"));
  for (const InstanceForm form : kAllForms) {
    write("empty.hdf5", Instances(), form);
    EXPECT_TRUE(contains(
        error_of([&] { open_instances(directory_ / "empty.hdf5", {.variable_length = true}); }),
        "empty.hdf5: the data set has no samples"));
  }
  EXPECT_THROW(open_instances(std::span<const std::filesystem::path>()), Error);
}

TEST_F(InstanceFile, ASampleLongerThanTheModelTakesIsNamed) {
  write("x.hdf5", sample_instances(5));
  EXPECT_TRUE(contains(error_of([&] {
                         open_instances(directory_ / "x.hdf5", {1000, 12});
                       }),
                       "x.hdf5: row 2 has 19 tokens, but samples may have only 1 to 12"));
}

TEST_F(InstanceFile, AnIndexBeyondTheDataSetIsNamed) {
  EXPECT_TRUE(
      contains(read_error(5, [](Instances&) {}), "there is no sample 5; the data set has 5"));
}

TEST_F(InstanceFile, ATokenBeyondTheVocabularyIsNamedWithItsPlace) {
  EXPECT_EQ(read_error(2, [](Instances& i) { i.tokens[i.token_offsets[2] + 6] = 1000; }),
            (directory_ / "x.hdf5").string() +
                ": row 2 has the token id 1000 at position 6, beyond the vocabulary of 1000 "
                "entries; use the vocabulary the file was made with");
  EXPECT_TRUE(
      contains(read_error(3, [](Instances& i) { i.masked_ids[i.masked_offsets[3]] = 60000; }),
               "row 3 has the masked token id 60000 at position 0, beyond the vocabulary"));
}

TEST_F(InstanceFile, FallingOrTooLargeMaskedPositionsAreNamed) {
  EXPECT_TRUE(
      contains(read_error(4, [](Instances& i) { i.masked_positions[i.masked_offsets[4] + 1] = 1; }),
               "row 4 has 1 as masked position number 1"));
  EXPECT_TRUE(contains(
      read_error(1, [](Instances& i) { i.masked_positions[i.masked_offsets[2] - 1] = 12; }),
      "below the sample's 12 tokens"));
}

TEST_F(InstanceFile, ALabelThatIsNeitherZeroNorOneIsNamed) {
  EXPECT_TRUE(contains(read_error(1, [](Instances& i) { i.next_sentence[1] = 2; }),
                       "row 1 has the next-sentence label 2"));
}

// Opening or reading a file reports an error for every truncation.
TEST_F(InstanceFile, ATruncatedFileIsNamedWhereverItEnds) {
  for (const InstanceForm form : kAllForms) {
    write("whole.hdf5", sample_instances(50), form);
    const std::string whole = read_file(directory_ / "whole.hdf5");
    for (size_t tenth = 0; tenth < 10; ++tenth) {
      write_file_atomically(directory_ / "cut.hdf5", whole.substr(0, whole.size() * tenth / 10));
      EXPECT_TRUE(contains(error_of([&] { open_instances(directory_ / "cut.hdf5"); }),
                           "cut.hdf5: cannot open as HDF5"));
    }
  }
}

TEST(InstanceForms, HaveNames) {
  for (const InstanceForm form : kAllForms) EXPECT_EQ(parse_form(form_name(form)), form);
  EXPECT_TRUE(contains(error_of([] { parse_form("csv"); }), "format 'csv' is unknown; use packed"));
}

}  // namespace
}  // namespace strata::data
