// Drawings as parts of a page and as files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace strata::drawing {

// Elements of SVG on a canvas of this size.
struct Drawing {
  double width = 0, height = 0;
  std::string elements;
};

// A chart's title and description for a screen reader.
struct Words {
  std::string title, description;
};
// Returns a chart for a page that has the style sheet (drawing/style.h). `classes` are CSS classes
// of the page, such as "narrow".
std::string in_page(const Drawing& drawing, const Words& words, const std::string& classes = "");

// Stacks the drawings under a title.
Drawing titled(const std::string& title, const std::vector<Drawing>& drawings);

// A picture, the number of drawn items, and a line for each item left out, with the reason.
struct Plot {
  Drawing picture;
  size_t drawn = 0;
  std::vector<std::string> left_out;
};

// Returns a complete file that names its maker.
std::string svg_file(const Drawing& drawing);

// Writes .svg itself, and has rsvg-convert, inkscape or ImageMagick make .png and .pdf. Throws
// Error for another extension, if none of these programs can do it, or if the file cannot be
// written; `output` is then unchanged.
void write_picture(const Drawing& drawing, const std::filesystem::path& output);

}  // namespace strata::drawing
