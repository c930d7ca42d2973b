#include "harness/resume/resume_point.h"

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"

namespace strata::harness {
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

bool begins_as_at(const std::filesystem::path& log, const ResumePoint& point) {
  const std::string text = read_file(log);
  return text.size() >= point.log_bytes &&
         crc32c(std::string_view(text).substr(0, point.log_bytes)) == point.log_checksum;
}

std::filesystem::path rewind_log(const ResultTree& tree, int experiment, const ResumePoint& point) {
  const std::filesystem::path log = tree.log(experiment), aside = copy_aside(tree, experiment);
  write_file_atomically(log, std::string_view(read_file(log)).substr(0, point.log_bytes));
  return aside;
}

}  // namespace strata::harness
