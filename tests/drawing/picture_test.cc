#include "drawing/picture.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files/files.h"
#include "drawing/marks.h"
#include "tests/support/error_of.h"
#include "tests/support/occurrences.h"
#include "tests/support/temporary_directory.h"

namespace strata::drawing {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::occurrences;

Drawing some_drawing() {
  return {100, 50, begin_group({2, 1, "a"}) + mark_at(Shape::kDot, 10, 10, "tip") + kEndGroup};
}

TEST(Picture, HasADescriptionForScreenReaders) {
  const std::string html = in_page(some_drawing(), {"A <title>", "what \"it\" shows"});
  EXPECT_EQ(occurrences(html, "role=\"img\" viewBox=\"0 0 100 50\""), 1u);
  EXPECT_EQ(occurrences(html, "aria-label=\"A &lt;title&gt;. what &quot;it&quot; shows\""), 1u);
}

TEST(Picture, AFileNeedsNoStyleSheetBesideIt) {
  const std::string svg = svg_file(some_drawing());
  EXPECT_EQ(occurrences(svg, ".c1 { color: #b34e00; }"), 1u);
  EXPECT_EQ(svg.find("var("), svg.npos) << "converters do not know variables";
  EXPECT_EQ(svg.find(":root"), svg.npos);
  EXPECT_EQ(occurrences(svg, "xmlns=\"http://www.w3.org/2000/svg\""), 1u);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Picture, TitledStacksDrawings) {
  const Drawing one = some_drawing(), stacked = titled("<b>", {one, one});
  EXPECT_EQ(stacked.width, one.width);
  EXPECT_GT(stacked.height, 2 * one.height);
  EXPECT_EQ(occurrences(stacked.elements, "&lt;b&gt;</text>"), 1u);
  EXPECT_EQ(occurrences(stacked.elements, "<title>tip</title>"), 2u);
}

class WritePicture : public testing_support::TemporaryDirectory {
 protected:
  WritePicture() { ::setenv("PATH", directory_.c_str(), 1); }
  ~WritePicture() override { ::setenv("PATH", path_.c_str(), 1); }

  void add_program(const std::string& name, const std::string& commands) {
    const fs::path program = directory_ / name;
    write_file_atomically(program, "#!/bin/sh\n" + commands);
    fs::permissions(program, fs::perms::owner_all);
  }
  void write(const std::string& name) { write_picture(some_drawing(), directory_ / name); }
  std::string read(const std::string& name) { return read_file(directory_ / name); }

  const std::string path_ = std::getenv("PATH");
};

TEST_F(WritePicture, SvgNeedsNoProgram) {
  write("new/a.svg");
  EXPECT_EQ(read("new/a.svg"), svg_file(some_drawing()));
}

TEST_F(WritePicture, WithoutAConverterTheErrorSaysWhatToDo) {
  for (const char* name : {"a.png", "a.pdf"}) {
    const std::string error = error_of([&] { write(name); });
    for (const char* part : {"apt install librsvg2-bin", "inkscape", "ImageMagick", ".svg file"}) {
      EXPECT_EQ(occurrences(error, part), 1u) << error;
    }
    EXPECT_FALSE(fs::exists(directory_ / name));
  }
  EXPECT_EQ(occurrences(error_of([&] { write("a.jpg"); }), ".svg, .png or .pdf"), 1u);
}

TEST_F(WritePicture, AConverterGetsTheSvgAndItsOutputIsThePicture) {
  add_program("rsvg-convert", "echo \"$*\"; exec /bin/cat");
  write("a.png");
  EXPECT_EQ(read("a.png"), "--format=png --zoom=1.5\n" + svg_file(some_drawing()));
  write("a.pdf");
  EXPECT_EQ(read("a.pdf"), "--format=pdf\n" + svg_file(some_drawing()));
}

TEST_F(WritePicture, IfOneConverterFailsTheNextIsTried) {
  add_program("rsvg-convert", "echo no fonts >&2; exit 3");
  add_program("inkscape", "exit 0");
  write_file_atomically(directory_ / "a.png", "of yesterday");
  const std::string error = error_of([&] { write("a.png"); });
  EXPECT_EQ(occurrences(error, "rsvg-convert failed (exit code 3): no fonts"), 1u) << error;
  EXPECT_EQ(occurrences(error, "inkscape failed"), 1u) << "it wrote nothing: " << error;
  EXPECT_EQ(read("a.png"), "of yesterday");
  add_program("magick", "echo drawn");
  write("a.png");
  EXPECT_EQ(read("a.png"), "drawn\n");
}

TEST_F(WritePicture, ProgramsInFoldersRelativeToTheCurrentOneAreNotRun) {
  add_program("rsvg-convert", "echo drawn");
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  ::setenv("PATH", ".:", 1);
  EXPECT_EQ(occurrences(error_of([&] { write("a.png"); }), "none is installed"), 1u);
  fs::current_path(before);
}

TEST_F(WritePicture, RealConvertersAcceptEveryElement) {
  ::setenv("PATH", path_.c_str(), 1);
  if (find_program("rsvg-convert").empty()) GTEST_SKIP() << "rsvg-convert is not installed";
  write("a.png");
  EXPECT_EQ(read("a.png").substr(1, 3), "PNG");
  write("a.pdf");
  EXPECT_EQ(read("a.pdf").substr(0, 4), "%PDF");
}

}  // namespace
}  // namespace strata::drawing
