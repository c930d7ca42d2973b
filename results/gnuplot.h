// Pictures drawn by gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace strata::results {

// `text` as a string of gnuplot's language.
std::string gnuplot_string(std::string_view text);

// What to draw on a canvas of this size.
struct Picture {
  std::string script;
  double width = 11, height = 6.4;  // inches
};

// Has gnuplot draw the picture `output`: .svg, .png or .pdf; or writes the script itself where that
// is a .gp. Throws Error for another ending, without gnuplot, where it fails, or where the picture
// cannot be written.
void draw(const Picture& picture, const std::filesystem::path& output);

}  // namespace strata::results
