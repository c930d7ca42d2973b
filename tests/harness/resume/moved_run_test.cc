#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

// Results, data and model lie in one folder, which is renamed. The old name may be one that a new
// configuration must not use.
class MovedRun : public Resume, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Names, MovedRun, testing::Values("before", "run[1]*", "$HOME/${USER}?"));

TEST_P(MovedRun, GoesOnWithItsFiles) {
  const std::filesystem::path before = directory_ / GetParam(), after = directory_ / "after";
  const auto lies_in = [&](const std::filesystem::path& folder) {
    config_.run.output = folder / "out";
    config_.model.config = (folder / "model.json").string();
    config_.model.vocab = folder / "vocab.txt";
    config_.data.train = config_.data.eval = {folder / "data.hdf5"};
  };
  lies_in(before);
  for (const char* name : {"model.json", "vocab.txt", "data.hdf5"})
    write_file_atomically(before / name, name);
  interrupt_at(8);
  std::filesystem::rename(before, after);
  lies_in(after);
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_THAT(system_.calls, HasSubstr("restore"));
  config_.run.experiments = 2;  // the second one after a result with the old folder name
  EXPECT_EQ(run(ExistingResults::kKeep).size(), 2u);
}

TEST_F(Resume, FilesAreComparedByContents) {
  const auto data = [&](const std::string& name) {
    config_.data.train = config_.data.eval = {directory_ / name};
  };
  const std::string large(5 << 20, 'a');
  std::string other = large;
  other[other.size() / 2] = 'b';
  for (const char* name : {"data", "copy"}) write_file_atomically(directory_ / name, large);
  write_file_atomically(directory_ / "other", other);
  data("data");
  run();
  config_.run.experiments = 2;
  data("other");
  EXPECT_THAT(error_of([&] { run(ExistingResults::kKeep); }), HasSubstr("data.train"));
  data("copy");
  EXPECT_EQ(run(ExistingResults::kKeep).size(), 2u);
}

}  // namespace
}  // namespace strata::harness
