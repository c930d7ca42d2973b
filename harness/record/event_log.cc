#include "harness/record/event_log.h"

#include <source_location>
#include <string_view>
#include <utility>

namespace strata::harness {
namespace {

mllog::LogWriterOptions options_with(LogClock clock) {
  constexpr std::string_view kThisFile = "harness/record/event_log.cc";
  const std::string_view here = std::source_location::current().file_name();
  return {std::move(clock), std::string(here.substr(0, here.size() - kThisFile.size())),
          "choose another run.output"};
}

}  // namespace

EventLog make_log(std::filesystem::path path, LogClock clock) {
  return EventLog(std::move(path), options_with(std::move(clock)));
}

EventLog reopen_log(std::filesystem::path path, int64_t earliest_ms) {
  return EventLog::reopen(std::move(path), options_with({}), earliest_ms);
}

}  // namespace strata::harness
