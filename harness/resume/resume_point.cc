#include "harness/resume/resume_point.h"

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"

namespace strata::harness {
namespace {

// The log as it was.
std::string log_until(const ResultTree& tree, int experiment, const ResumePoint& point) {
  const std::filesystem::path log = tree.log(experiment);
  std::string text = read_file(log);
  const bool long_enough = text.size() >= point.log_bytes;
  text.resize(std::min<uint64_t>(text.size(), point.log_bytes));
  if (!long_enough || crc32c(text) != point.log_checksum) {
    fail(
        "{}: is not the log that the checkpoint after step {} belongs to: the first {} bytes "
        "differ; move the checkpoints away, and run again with --continue",
        log.string(), point.step, point.log_bytes);
  }
  return text;
}

}  // namespace

std::string to_note(const ResumePoint& point) {
  return nlohmann::ordered_json{{"seed", point.seed},
                                {"step", point.step},
                                {"samples", point.samples},
                                {"block_begin", point.block_begin},
                                {"accuracy", point.accuracy},
                                {"train_samples", point.train_samples},
                                {"eval_samples", point.eval_samples},
                                {"log_bytes", point.log_bytes},
                                {"log_checksum", point.log_checksum}}
      .dump();
}

ResumePoint parse_note(const std::string& note, const std::filesystem::path& where) {
  try {
    const auto json = nlohmann::json::parse(note);
    return {.seed = json.at("seed"),
            .step = json.at("step"),
            .samples = json.at("samples"),
            .block_begin = json.at("block_begin"),
            .accuracy = json.at("accuracy"),
            .train_samples = json.at("train_samples"),
            .eval_samples = json.at("eval_samples"),
            .log_bytes = json.at("log_bytes"),
            .log_checksum = json.at("log_checksum")};
  } catch (const nlohmann::json::exception& error) {
    fail("{}: its note does not say where the run was: {}", where.string(), error.what());
  }
}

void check_log(const ResultTree& tree, int experiment, const ResumePoint& point) {
  log_until(tree, experiment, point);
}

std::filesystem::path rewind_log(const ResultTree& tree, int experiment, const ResumePoint& point) {
  const std::string text = log_until(tree, experiment, point);
  const std::filesystem::path aside = copy_aside(tree, experiment);
  write_file_atomically(tree.log(experiment), text);
  return aside;
}

}  // namespace strata::harness
