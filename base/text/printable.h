// Text of any bytes, fit to be printed: what a file holds cannot steer a terminal or forge a line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

// The same lines in UTF-8. Control characters but line feeds and tabs, and marks of direction, are
// written as \x1b or \u202e, bytes that are no UTF-8 as \xff. A line that begins as a command of a
// CI service does ("::", "##[") gets "| " before it.
std::string printable_lines(std::string_view text);

// printable_lines() of an error message. Lines after the first that begin neither with "strata: "
// nor with a space get "| " before them, so that a name within the message cannot forge a line.
std::string printable_error(std::string_view message);

// A name or text on one line: line feeds, too, are escaped, as \x0a. Shows at most `most` bytes of
// the text, in whole characters, then "...".
std::string one_line(std::string_view text, size_t most = 4096);

}  // namespace strata
