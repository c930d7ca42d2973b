// Files that earlier runs have left.
#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

// The run's log keeper was killed, too.
TEST_F(Resume, ARunKilledBeforeItsStartStartsAgain) {
  const std::string init =
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"INTERVAL_START\", "
      "\"key\": \"init_start\", \"value\": null, \"metadata\": {}}\n";
  std::filesystem::path log;
  for (const ExistingResults existing :
       {ExistingResults::kRefuse, ExistingResults::kKeep, ExistingResults::kResume}) {
    std::filesystem::remove_all(config_.run.output);
    write_file_atomically(tree().log(0), init);
    write_file_atomically(tree().config(0), "of: another version\n");
    testing::internal::CaptureStderr();
    EXPECT_TRUE(run(existing)[0].reached_target);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("result_0: its run was killed before it began; it starts again"));
    EXPECT_EQ(read_file(tree().log(0).string() + ".interrupted.1"), init);
    EXPECT_EQ(read_file(tree().config(0).string() + ".interrupted.1"), "of: another version\n");
  }
  std::filesystem::remove_all(config_.run.output);
  write_file_atomically(tree().log(0), init);
  write_file_atomically(tree().checkpoint(0), "weights");
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("result_0.safetensors: exists already"));
}

TEST_F(Resume, TheNextStartRemovesLeftoversOfAKilledWriter) {
  interrupt_at(8);
  const std::string process = ".tmp.999999999.0";  // beyond every process number
  std::vector<std::filesystem::path> left;
  for (const std::filesystem::path& path :
       {part(6), tree().checkpoint(0), tree().system_description(),
        std::filesystem::path(tree().checkpoints(0).string() + ".interrupted.1") / "step_2" /
            "part"}) {
    left.emplace_back(path.string() + process);
    write_file_atomically(left.back(), "half");
  }
  run(ExistingResults::kResume);
  for (const auto& path : left) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(Resume, FilesOfAnEarlierRunAreNotReplaced) {
  const std::vector<std::filesystem::path> all = {tree().checkpoint(0),
                                                  tree().step_trace(0),
                                                  tree().timeline(0),
                                                  tree().config(0),
                                                  tree().tensorboard(0) / "events",
                                                  tree().log(0),
                                                  tree().checkpoints(0) / "notes"};
  for (const auto& path : all) {
    write_file_atomically(path, "earlier");
    const std::string error = error_of([&] { run(); });
    EXPECT_THAT(error, HasSubstr("exists already; move it away")) << path;
    EXPECT_EQ(read_file(path), "earlier");
    std::filesystem::remove_all(config_.run.output);
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(directory_ / "elsewhere", path);
    EXPECT_THAT(error_of([&] { run(); }), HasSubstr("exists already")) << path;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "elsewhere")) << path;
    std::filesystem::remove_all(config_.run.output);
  }
}

TEST_F(Resume, ContinuingArchivesFilesWithoutALog) {
  config_.log.save_checkpoint = true;
  for (const auto& path : {tree().checkpoint(0), tree().timeline(0), tree().config(0)})
    write_file_atomically(path, "earlier");
  run(ExistingResults::kKeep);
  for (const auto& path : {tree().checkpoint(0), tree().timeline(0), tree().config(0)})
    EXPECT_EQ(read_file(path.string() + ".interrupted.1"), "earlier");
  EXPECT_EQ(read_file(tree().checkpoint(0)), "after step 9");
}

TEST_F(Resume, ALinkInPlaceOfAFileIsNotFollowed) {
  interrupt_at(8);
  write_file_atomically(directory_ / "mine", "mine");
  std::filesystem::create_symlink(directory_ / "mine", tree().step_trace(0));
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }), HasSubstr("is a link"));
  EXPECT_EQ(read_file(directory_ / "mine"), "mine");
}

TEST_F(Resume, ADescriptionOfAnotherSystemIsNotReplaced) {
  write_file_atomically(tree().system_description(), R"({"submitter": "Acme"})");
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("describes another system"));
  EXPECT_EQ(read_file(tree().system_description()), R"({"submitter": "Acme"})");
}

TEST_F(Resume, ADamagedDescriptionIsNotReplaced) {
  write_file_atomically(tree().system_description(), "torn {");
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("is not a JSON object; move it away"));
  std::filesystem::remove(tree().system_description());
  interrupt_at(8);
  write_file_atomically(tree().system_description(), "torn {");
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }),
              HasSubstr("is not a JSON object; restore it"));
  EXPECT_EQ(read_file(tree().system_description()), "torn {");
}

}  // namespace
}  // namespace strata::harness
