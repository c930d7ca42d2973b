// Pictures drawn by gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace strata::results {

// `text` on one line, what is not UTF-8 replaced.
std::string plain_text(std::string_view text);

// Plain text as a string of gnuplot's language.
std::string gnuplot_string(std::string_view text);

// What to draw on a canvas of this size.
struct Picture {
  std::string script;
  double width = 11, height = 6.4;  // inches
};

// The script with what it needs to be drawn elsewhere, and how to.
std::string whole_script(const Picture& picture);

// Has gnuplot draw the picture `output`: .svg, .png or .pdf; or writes the whole script where that
// is a .gp. Throws Error for another ending, without gnuplot, where it fails, or where the picture
// cannot be written; `output` is then as it was.
void draw(const Picture& picture, const std::filesystem::path& output);

}  // namespace strata::results
