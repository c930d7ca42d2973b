#include "scoring/export/events_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/characters.h"
#include "mllog/log_reader.h"
#include "mllog/log_value.h"
#include "scoring/export/named_logs.h"
#include "scoring/table.h"

namespace strata::scoring {
namespace {

// Returns UTF-8 for a log's bytes, which the official checker and the parsers here read as Latin-1.
std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

// Returns POINT_IN_TIME, INTERVAL_START or INTERVAL_END, or an empty text if the line has none.
std::string type_of(const mllog::Event& event) {
  const auto object = event.line.substr(std::min(event.line.find('{'), event.line.size()));
  const auto type = mllog::find_field(object, "event_type");
  if (!type) return "";
  const mllog::EventValue value = mllog::parse_value(*type);
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? valid_utf8(*text) : "";
}

}  // namespace

EventsTable events_table(std::span<const std::filesystem::path> paths,
                         compliance::ListingProblems& problems) {
  EventsTable table{
      .csv = csv_line({"log", "offset", "time_ms", "event_type", "key", "value", "metadata"})};
  for (const auto& [name, path] : named_logs(paths, problems)) {
    const std::string shown = valid_utf8(name.string());
    try {
      const mllog::LogReader log(path, mllog::LogFormat::kMllog);
      log.visit([&](const mllog::Event& event) {
        table.csv += csv_line({shown, fmt::format("{}", event.offset), csv_number(event.time_ms),
                               type_of(event), valid_utf8(event.key), from_latin1(event.value),
                               from_latin1(event.metadata)});
        ++table.events;
        return true;
      });
      ++table.logs;
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  }
  return table;
}

}  // namespace strata::scoring
