// Prints text for people on standard output, with escapes for what could steer a terminal.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "base/text/printable.h"

namespace strata::cli {

// Prints text of several lines, with escapes for what could steer a terminal (see printable_lines).
// Names and values may come from any file; the caller must escape line feeds in them with
// one_line(). Throws std::system_error if standard output cannot be written.
inline void say_text(const std::string& text) {
  const std::string shown = printable_lines(text);
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) < shown.size())
    throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace strata::cli
