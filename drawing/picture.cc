#include "drawing/picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files/files.h"
#include "drawing/marks.h"
#include "drawing/memory_file.h"
#include "drawing/style.h"
#include "drawing/text.h"

extern char** environ;

namespace strata::drawing {
namespace {

namespace fs = std::filesystem;

// Returns the style sheet without variables, because converters do not support var().
std::string plain_style() {
  std::string style(style_sheet().text);
  for (size_t at = style.find("var("); at != style.npos; at = style.find("var(", at)) {
    const size_t end = style.find(')', at);
    const std::string name = style.substr(at + 4, end - at - 4) + ": ";
    const size_t value = style.find(name) + name.size();
    style.replace(at, end + 1 - at, style.substr(value, style.find(';', value) - value));
  }
  return style.substr(style.find("}\n") + 2);
}

// A program that reads SVG from standard input and writes a picture to standard output.
struct Converter {
  const char* program;
  std::vector<std::string> png, pdf;
};

const std::vector<Converter>& converters() {
  static const std::vector<Converter> kConverters = {
      {"rsvg-convert", {"--format=png", "--zoom=1.5"}, {"--format=pdf"}},
      {"inkscape",
       {"--pipe", "--export-type=png", "--export-dpi=144", "--export-filename=-"},
       {"--pipe", "--export-type=pdf", "--export-filename=-"}},
      {"magick", {"-density", "144", "svg:-", "png:-"}, {"svg:-", "pdf:-"}},
      {"convert", {"-density", "144", "svg:-", "png:-"}, {"svg:-", "pdf:-"}}};
  return kConverters;
}

struct Conversion {
  std::string picture;  // empty if it failed
  std::string problem;
};

Conversion run(const std::string& program, std::vector<std::string> words, const std::string& svg) {
  MemoryFile input("the picture to convert"), picture("the converted picture"),
      messages("the converter's messages");
  input.fill(svg);
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  int error = posix_spawn_file_actions_init(&files);
  const MemoryFile* const streams[] = {&input, &picture, &messages};
  for (int i = 0; i < 3 && error == 0; ++i) {
    error = posix_spawn_file_actions_adddup2(&files, streams[i]->descriptor(), i);
  }
  pid_t child = 0;
  if (error == 0) {
    error = posix_spawn(&child, program.c_str(), &files, nullptr, arguments.data(), environ);
  }
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return {"", fmt::format("{} cannot be run: {}", program, std::strerror(error))};
  const std::optional<int> ended = wait_for(child);
  if (!ended) fail("cannot get the exit code of {}: {}", program, std::strerror(errno));
  const int status = *ended;
  std::string converted = picture.contents();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !converted.empty()) {
    return {std::move(converted), ""};
  }
  return {"", fmt::format(
                  "{} failed ({} {}): {}", program, WIFEXITED(status) ? "exit code" : "signal",
                  WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), messages.contents())};
}

// Converts with the first converter that succeeds.
std::string converted(const std::string& svg, const fs::path& output) {
  std::vector<std::string> problems;
  for (const Converter& converter : converters()) {
    const std::string program = find_program(converter.program);
    if (program.empty()) continue;
    Conversion conversion =
        run(program, output.extension() == ".png" ? converter.png : converter.pdf, svg);
    if (conversion.problem.empty()) return std::move(conversion.picture);
    problems.push_back(std::move(conversion.problem));
  }
  if (problems.empty()) {
    fail(
        "{}: .png and .pdf need rsvg-convert, inkscape or ImageMagick, and none is installed; run "
        "apt install librsvg2-bin, or name an .svg file, which needs none",
        output.string());
  }
  fail("{}: could not be converted; name an .svg file, which needs no converter. {}",
       output.string(), fmt::join(problems, "; "));
}

}  // namespace

std::string in_page(const Drawing& drawing, const Words& words, const std::string& classes) {
  return fmt::format(
      "<div class=\"scroll chart{5}\" tabindex=\"0\" role=\"region\" aria-label=\"{2}\">"
      "<svg role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "aria-label=\"{2}. {3}\">\n{4}</svg></div>\n",
      drawing.width, drawing.height, escape(words.title), escape(words.description, 1000),
      drawing.elements, classes.empty() ? "" : " " + classes);
}

Drawing titled(const std::string& title, const std::vector<Drawing>& drawings) {
  constexpr double kAbove = 34, kBetween = 16, kLeft = 14;
  Drawing whole{.width = 0,
                .height = kAbove,
                .elements = text_at(kLeft, 22, shortened(title, 140), "heading") + '\n'};
  for (const Drawing& drawing : drawings) {
    whole.elements += fmt::format("<g transform=\"translate(0 {:.1f})\">\n{}</g>\n", whole.height,
                                  drawing.elements);
    whole.width = std::max(whole.width, drawing.width);
    whole.height += drawing.height + kBetween;
  }
  return whole;
}

std::string svg_file(const Drawing& drawing) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<desc>Drawn by Strata</desc>\n<style>\n{2}</style>\n"
      "<rect class=\"back\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{3}</svg>\n",
      drawing.width, drawing.height, plain_style(), drawing.elements);
}

void write_picture(const Drawing& drawing, const fs::path& output) {
  const std::string ending = output.extension().string();
  if (ending != ".svg" && ending != ".png" && ending != ".pdf") {
    fail("'{}': the name of a picture must end in .svg, .png or .pdf", output.string());
  }
  const std::string svg = svg_file(drawing);
  write_output(output, ending == ".svg" ? svg : converted(svg, output));
}

}  // namespace strata::drawing
