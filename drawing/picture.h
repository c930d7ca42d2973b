// Drawings as parts of a page and as files of their own.
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

// What a chart shows: its name for a screen reader, and what one should see.
struct Words {
  std::string title, description;
};
// A chart in a page that has the style sheet (drawing/style.h).
std::string in_page(const Drawing& drawing, const Words& words);

// The drawings below each other, under a title.
Drawing titled(const std::string& title, const std::vector<Drawing>& drawings);

// A picture, how much is in it, and what is not and why, a line each.
struct Plot {
  Drawing picture;
  size_t drawn = 0;
  std::vector<std::string> left_out;
};

// A file of its own, which names its maker.
std::string svg_file(const Drawing& drawing);

// Writes .svg itself, and has rsvg-convert, inkscape or ImageMagick make .png and .pdf of it.
// Throws Error for another ending, if none of these programs can do it, or if the file cannot be
// written; `output` is then as it was.
void write_picture(const Drawing& drawing, const std::filesystem::path& output);

}  // namespace strata::drawing
