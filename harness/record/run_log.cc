#include "harness/record/run_log.h"

#include <source_location>
#include <string_view>
#include <utility>

namespace strata::harness {
namespace {

mllog::LogWriterOptions options_with(mllog::LogClock clock) {
  constexpr std::string_view kThisFile = "harness/record/run_log.cc";
  const std::string_view here = std::source_location::current().file_name();
  return {std::move(clock), std::string(here.substr(0, here.size() - kThisFile.size())),
          "choose another run.output"};
}

}  // namespace

mllog::LogWriter make_log(std::filesystem::path path, mllog::LogClock clock) {
  return mllog::LogWriter(std::move(path), options_with(std::move(clock)));
}

mllog::LogWriter reopen_log(std::filesystem::path path, int64_t earliest_ms) {
  return mllog::LogWriter::reopen(std::move(path), options_with({}), earliest_ms);
}

}  // namespace strata::harness
