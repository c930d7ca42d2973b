#include "data/files/isolated_shard.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class IsolatedShard : public testing::Test {
 protected:
  void write(const std::string& name, InstanceForm form = InstanceForm::kPacked) {
    write_instances(directory_ / name, sample_instances(20), sample_info(form));
  }
  static void kill_reader() {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child; children >> child;) ::kill(child, SIGKILL);
  }

  TemporaryDirectory directory_;
};

TEST_F(IsolatedShard, ReadsTheSameAsAShardOfThisProcess) {
  for (const InstanceForm form :
       {InstanceForm::kPacked, InstanceForm::kMlperfFixed, InstanceForm::kMlperfVariable}) {
    write("x.hdf5", form);
    const auto path = directory_ / "x.hdf5";
    const auto here = open_shard(path, true), there = open_isolated(path, true);
    const ShardIndex index = here->read_index();
    EXPECT_EQ(there->read_index().lengths, index.lengths);
    EXPECT_EQ(there->read_index().masked_counts, index.masked_counts);
    EXPECT_EQ(there->documents(), here->documents());
    RawSample a, b;
    for (uint32_t row = 0; row < 20; ++row) {
      here->read(row, index.lengths[row], index.masked_counts[row], a);
      there->read(row, index.lengths[row], index.masked_counts[row], b);
      EXPECT_EQ(a.tokens, b.tokens);
      EXPECT_EQ(a.segments, b.segments);
      EXPECT_EQ(a.masked_positions, b.masked_positions);
      EXPECT_EQ(a.masked_ids, b.masked_ids);
      EXPECT_EQ(a.next_sentence, b.next_sentence);
    }
    const InstanceFileInfo info = describe_isolated(path), known = describe_hdf5(path);
    EXPECT_EQ(info.form, form);
    EXPECT_EQ(info.samples, 20u);
    EXPECT_EQ(info.vocabulary_size, known.vocabulary_size);
    EXPECT_EQ(info.max_length, known.max_length);
    EXPECT_EQ(info.max_predictions, known.max_predictions);
    EXPECT_EQ(info.seed, known.seed);
    EXPECT_EQ(info.text_hash, known.text_hash);
    EXPECT_EQ(info.made_from, known.made_from);
    EXPECT_EQ(info.data_sets, known.data_sets);
  }
}

// The library of Debian 12 reads beyond the end of an old-version layout.
TEST_F(IsolatedShard, AFileThatCrashesTheLibraryDoesNotStopOtherFiles) {
  write("good.hdf5");
  const auto good = open_isolated(directory_ / "good.hdf5", false);
  const std::string whole = read_file(directory_ / "good.hdf5");
  const std::string layout("\x08\0\x18\0\0\0\0\0\x03\x01", 10);
  int layouts = 0;
  for (size_t at = 0; (at = whole.find(layout, at)) != std::string::npos; ++at, ++layouts) {
    for (const size_t byte : {8, 9}) {
      std::string damaged = whole;
      damaged[at + byte] = 2;
      write_file_atomically(directory_ / "bad.hdf5", damaged);
      const std::string error = error_of([&] {
        const auto source = open_instances(directory_ / "bad.hdf5");
        PackedBatch batch;
        source->read(all_samples(*source), batch);
        source->documents();
      });
      EXPECT_TRUE(contains(error, "bad.hdf5: ")) << error;
      EXPECT_EQ(good->read_index().lengths.size(), 20u);
    }
  }
  EXPECT_EQ(layouts, 7);
}

TEST_F(IsolatedShard, RowsAreReadByANewProcessIfTheFirstIsKilled) {
  write("a.hdf5");
  write("b.hdf5", InstanceForm::kMlperfFixed);
  const std::shared_ptr<const InstanceShard> a = open_isolated(directory_ / "a.hdf5", false),
                                             b = open_isolated(directory_ / "b.hdf5", false);
  const ShardIndex index = a->read_index();
  std::vector<ShardRow> rows;
  for (uint32_t row = 0; row < 20; ++row) {
    rows.push_back({row % 2 ? a : b, row, index.lengths[row], index.masked_counts[row]});
  }
  std::vector<RawSample> before, after;
  read_rows(rows, before);
  kill_reader();
  read_rows(rows, after);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].tokens, before[i].tokens);
}

TEST_F(IsolatedShard, RelativePathsKeepTheFolderTheyWereOpenedIn) {
  write("x.hdf5");
  const std::filesystem::path before = std::filesystem::current_path();
  describe_isolated(directory_ / "x.hdf5");
  std::filesystem::current_path(directory_.path());
  const auto shard = open_isolated("x.hdf5", false);
  std::filesystem::current_path(before);
  kill_reader();
  EXPECT_EQ(shard->read_index().lengths.size(), 20u);
}

TEST_F(IsolatedShard, ErrorsOfTheReaderProcessArePassedOn) {
  write("rows.hdf5", InstanceForm::kMlperfVariable);
  EXPECT_TRUE(contains(error_of([&] { open_isolated(directory_ / "rows.hdf5", false); }),
                       "rows.hdf5: has variable-length rows"));
  EXPECT_TRUE(contains(error_of([&] { describe_isolated(directory_ / "none.hdf5"); }),
                       "none.hdf5: cannot open: No such file"));
}

TEST_F(IsolatedShard, ThreadsMayReadAtTheSameTime) {
  write("x.hdf5");
  const auto shard = open_isolated(directory_ / "x.hdf5", false);
  const ShardIndex index = shard->read_index();
  std::vector<std::jthread> threads;
  for (uint32_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      RawSample sample;
      for (uint32_t i = 0; i < 200; ++i) {
        const uint32_t row = (first * 5 + i) % 20;
        shard->read(row, index.lengths[row], index.masked_counts[row], sample);
        EXPECT_EQ(sample.tokens.size(), static_cast<size_t>(index.lengths[row]));
      }
    });
  }
}

}  // namespace
}  // namespace strata::data
