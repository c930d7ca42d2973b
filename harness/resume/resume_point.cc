#include "harness/resume/resume_point.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/files/crc32c.h"
#include "base/files/files.h"
#include "base/text/json.h"
#include "harness/record/run_log.h"

namespace strata::harness {

std::string to_note(const ResumePoint& point) {
  return json_text(nlohmann::ordered_json{{"seed", point.seed},
                                          {"step", point.step},
                                          {"samples", point.samples},
                                          {"block_begin", point.block_begin},
                                          {"accuracy", point.accuracy},
                                          {"train_samples", point.train_samples},
                                          {"eval_samples", point.eval_samples},
                                          {"data_checksum", point.data_checksum},
                                          {"log_bytes", point.log_bytes},
                                          {"log_checksum", point.log_checksum}});
}

std::optional<ResumePoint> parse_note(const std::string& note) {
  const auto json = nlohmann::json::parse(note, nullptr, false);
  bool whole = json.is_object();
  const auto number = [&](const char* key, auto& value) {
    const auto found = whole ? json.find(key) : json.end();
    using Number = std::remove_reference_t<decltype(value)>;
    whole = whole && found != json.end() && found->is_number() &&
            (std::is_floating_point_v<Number> || found->is_number_integer());
    if (whole) value = found->get<Number>();
  };
  ResumePoint point;
  number("seed", point.seed);
  number("step", point.step);
  number("samples", point.samples);
  number("block_begin", point.block_begin);
  number("accuracy", point.accuracy);
  number("train_samples", point.train_samples);
  number("eval_samples", point.eval_samples);
  number("data_checksum", point.data_checksum);
  number("log_bytes", point.log_bytes);
  number("log_checksum", point.log_checksum);
  whole = whole && point.step > 0 && point.samples > 0 && point.block_begin >= 0 &&
          point.block_begin <= point.samples && point.accuracy >= 0 && point.accuracy <= 1 &&
          point.log_bytes > 0;
  return whole ? std::optional(point) : std::nullopt;
}

bool begins_as_at(const std::filesystem::path& log, const ResumePoint& point) {
  const std::string text = read_file(log);
  return text.size() >= point.log_bytes &&
         crc32c(std::string_view(text).substr(0, point.log_bytes)) == point.log_checksum;
}

int64_t latest_logged_ms(const ResultTree& tree, int experiment, const ResumePoint& point) {
  const std::filesystem::path log = tree.log(experiment);
  int64_t latest = mllog::latest_time_ms(log);
  for (const std::filesystem::path& path : list_directory(log.parent_path())) {
    if (path.filename().string().starts_with(log.filename().string() + ".interrupted.") &&
        begins_as_at(path, point)) {
      latest = std::max(latest, mllog::latest_time_ms(path));
    }
  }
  return latest;
}

std::filesystem::path rewind_log(const ResultTree& tree, int experiment, const ResumePoint& point) {
  const std::filesystem::path log = tree.log(experiment),
                              archived = copy_to_archive(tree, experiment);
  write_file_atomically(log, std::string_view(read_file(log)).substr(0, point.log_bytes));
  return archived;
}

}  // namespace strata::harness
