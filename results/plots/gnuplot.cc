#include "results/plots/gnuplot.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/text/characters.h"
#include "results/memory_file.h"

extern char** environ;

namespace strata::results {
namespace {

namespace fs = std::filesystem;

struct Run {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string picture, messages;
};

Run run_gnuplot(const std::string& script) {
  MemoryFile input("gnuplot's script"), picture("gnuplot's picture"),
      messages("gnuplot's messages");
  input.fill(script);
  // The user's own defaults would change the picture.
  std::string program = find_program("gnuplot"), option = "--default-settings";
  char* arguments[] = {program.data(), option.data(), nullptr};
  posix_spawn_file_actions_t files;
  int error = posix_spawn_file_actions_init(&files);
  const MemoryFile* const streams[] = {&input, &picture, &messages};
  for (int i = 0; i < 3 && error == 0; ++i) {
    error = posix_spawn_file_actions_adddup2(&files, streams[i]->descriptor(), i);
  }
  pid_t child = 0;
  if (error == 0 && program.empty()) error = ENOENT;
  if (error == 0) {
    error = posix_spawnp(&child, program.c_str(), &files, nullptr, arguments, environ);
  }
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT) {
    fail(
        "gnuplot draws pictures and is not installed: apt install gnuplot-nox, or name a .gp file, "
        "its script, and draw that elsewhere");
  }
  if (error != 0) fail("gnuplot cannot be run: {}", std::strerror(error));
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended != child) fail("gnuplot's exit code is lost: {}", std::strerror(errno));
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .picture = picture.contents(),
          .messages = messages.contents()};
}

// How gnuplot draws a picture of this name.
std::string terminal_for(const Picture& picture, const fs::path& output) {
  const std::string ending = output.extension().string();
  const auto pixels = [&](int per_inch) {
    return fmt::format("size {:.0f},{:.0f}", per_inch * picture.width, per_inch * picture.height);
  };
  if (ending == ".svg") return "svg " + pixels(100) + " font 'sans-serif,13' background 'white'";
  if (ending == ".png") return "pngcairo " + pixels(150) + " font 'sans,14'";
  if (ending == ".pdf") {
    return fmt::format("pdfcairo size {:.2f}in,{:.2f}in font 'sans,10'", picture.width,
                       picture.height);
  }
  fail("'{}': pictures are .svg, .png or .pdf; .gp is gnuplot's script", output.string());
}

// Text is drawn as it stands.
constexpr char kPlainText[] = "set encoding utf8\nset termoption noenhanced\n";

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    bool valid = false;
    const char32_t character = next_character(text, at, valid);
    append_utf8(plain, is_control(character) ? U' ' : character);
  }
  return plain;
}

std::string gnuplot_string(std::string_view text) {
  const std::string plain = plain_text(text);
  // What begins with a quote is taken for an empty string and what follows it.
  const size_t begin = std::min(plain.find_first_not_of('\''), plain.size());
  std::string quoted = begin > 0 ? '"' + plain.substr(0, begin) + "\".'" : "'";
  for (const char c : plain.substr(begin)) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + '\'';
}

std::string whole_script(const Picture& picture) {
  return fmt::format("# gnuplot -e \"set terminal {}; set output 'FILE.svg'\" THIS_FILE\n{}{}",
                     terminal_for(picture, "FILE.svg"), kPlainText, picture.script);
}

void draw(const Picture& picture, const fs::path& output) {
  if (output.extension() == ".gp") return write_output(output, whole_script(picture));
  const Run run =
      run_gnuplot(fmt::format("set terminal {}\n{}{}unset output\n", terminal_for(picture, output),
                              kPlainText, picture.script));
  if (run.exit_code != 0 || run.picture.empty()) {
    fail("gnuplot could not draw {} (exit code {}): {}", output.string(), run.exit_code,
         run.messages);
  }
  write_output(output, run.picture);
}

}  // namespace strata::results
