// Makes arbitrary bytes safe to print: a file's contents cannot control the terminal or forge a
// line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

// Returns the same lines in UTF-8. Escapes control characters other than line feeds and tabs, and
// marks of direction, as \x1b or \u202e, and bytes that are not UTF-8 as \xff. Puts "| " before a
// line that looks like a command of a CI service ("::", "##[").
std::string printable_lines(std::string_view text);

// Returns printable_lines() of an error message. Puts "| " before later lines that begin neither
// with "strata: " nor with a space, so that a name within the message cannot forge a line.
std::string printable_error(std::string_view message);

// Returns a name or text on one line: line feeds are escaped, too, as \x0a. Shows at most `most`
// bytes of the text, in whole characters, then "...".
std::string one_line(std::string_view text, size_t most = 4096);

}  // namespace strata
