#include "harness/resume/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::harness {
namespace {

constexpr char kPrefix[] = "step_", kWhole[] = "whole";
constexpr size_t kKept = 2;

}  // namespace

std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, int64_t step) {
  return checkpoints / fmt::format("{}{}", kPrefix, step);
}

std::vector<int64_t> checkpoint_steps(const std::filesystem::path& checkpoints) {
  std::vector<int64_t> steps;
  std::error_code ignored;
  if (!std::filesystem::is_directory(checkpoints, ignored)) return steps;
  constexpr size_t kPrefixLength = sizeof kPrefix - 1;
  for (const auto& path : list_directory(checkpoints)) {
    const std::string name = path.filename().string();
    int64_t step = 0;
    if (!name.starts_with(kPrefix)) continue;
    std::from_chars(name.data() + kPrefixLength, name.data() + name.size(), step);
    if (step > 0 && path == checkpoint_folder(checkpoints, step)) steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

bool is_marked_whole(const std::filesystem::path& checkpoint) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint / kWhole, ignored);
}

Checkpoints::Checkpoints(const config::CheckpointConfig& config, SystemUnderTest& system,
                         Communicator& ranks, std::filesystem::path folder, int64_t resumed_after)
    : config_(config),
      system_(system),
      ranks_(ranks),
      folder_(std::move(folder)),
      last_(resumed_after) {
  if (!ranks_.first()) return;
  // Keeps checkpoints of later steps, which were unusable, so that the reason can be found.
  for (const int64_t step : checkpoint_steps(folder_)) {
    if (step <= resumed_after) written_.push_front(step);
  }
}

bool Checkpoints::due(int64_t step) {
  if (!config_.enabled() || step == last_) return false;
  const bool by_steps =
      config_.every_steps > 0 && step / config_.every_steps > last_ / config_.every_steps;
  return by_steps || (config_.every_seconds > 0 && time_is_up());
}

bool Checkpoints::time_is_up() {
  bool up = seconds_since(last_time_) >= config_.every_seconds;
  ranks_.share(up);
  return up;
}

void Checkpoints::take(int64_t step, const std::string& note) {
  const auto begin = Clock::now();
  wait_for_last();
  system_.begin_checkpoint(checkpoint_folder(folder_, step), note);
  being_written_ = last_ = step;
  ++taken_;
  last_time_ = Clock::now();
  seconds_ += seconds_between(begin, last_time_);
}

void Checkpoints::wait_for_last() {
  if (being_written_ == 0) return;
  const bool whole = system_.finish_checkpoint();
  const int64_t step = being_written_;
  being_written_ = 0;
  if (!ranks_.first()) return;
  if (!whole) return remove_folder(step);
  written_.push_back(step);
  try {
    write_file_atomically(checkpoint_folder(folder_, step) / kWhole, "");
  } catch (const Error& error) {  // keeps earlier checkpoints until the next is marked
    print_to_stderr("\nstrata: {}\n", error.what());
    return;
  }
  for (; written_.size() > kKept; written_.pop_front()) remove_folder(written_.front());
}

void Checkpoints::remove_all() {
  if (config_.enabled()) ranks_.barrier();
  if (!ranks_.first()) return;
  std::error_code ignored;
  for (const int64_t step : checkpoint_steps(folder_)) remove_folder(step);
  std::filesystem::remove(folder_, ignored);  // only removes an empty folder
}

void Checkpoints::remove_folder(int64_t step) {
  const std::filesystem::path folder = checkpoint_folder(folder_, step);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) {
    print_to_stderr("strata: {}: cannot be removed: {}\n", folder.string(), error.message());
  }
}

}  // namespace strata::harness
