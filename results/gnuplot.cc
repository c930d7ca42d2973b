#include "results/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

extern char** environ;

namespace strata::results {
namespace {

namespace fs = std::filesystem;

// A folder that is gone afterwards.
class WorkFolder {
 public:
  WorkFolder() {
    std::string pattern = (fs::temp_directory_path() / "strata_plot_XXXXXX").string();
    if (!::mkdtemp(pattern.data())) fail("{}: {}", pattern, std::strerror(errno));
    path_ = pattern;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Returns its exit code, 128 + the signal that ended it; what it says goes to `messages`.
int run_gnuplot(const fs::path& script, const fs::path& messages) {
  std::string program = "gnuplot", argument = script.string();
  char* arguments[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, messages.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT) {
    fail(
        "gnuplot draws the picture and is not installed: apt install gnuplot-nox, or ask for a .gp "
        "file, its script, and draw that elsewhere");
  }
  if (error != 0) fail("gnuplot cannot be run: {}", std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// How gnuplot draws a picture of this name. Text is drawn as it stands.
std::string terminal_for(const Picture& picture, const fs::path& output) {
  const std::string ending = output.extension().string();
  const auto pixels = [&](int per_inch) {
    return fmt::format("noenhanced size {:.0f},{:.0f}", per_inch * picture.width,
                       per_inch * picture.height);
  };
  if (ending == ".svg") return "svg " + pixels(100) + " font 'sans-serif,13' background 'white'";
  if (ending == ".png") return "pngcairo " + pixels(150) + " font 'sans,14'";
  if (ending == ".pdf") {
    return fmt::format("pdfcairo noenhanced size {:.2f}in,{:.2f}in font 'sans,10'", picture.width,
                       picture.height);
  }
  fail("{}: pictures are .svg, .png or .pdf; .gp is gnuplot's script", output.string());
}

}  // namespace

std::string gnuplot_string(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    quoted += control ? ' ' : c;
    if (c == '\'') quoted += '\'';
  }
  return quoted + '\'';
}

void draw(const Picture& picture, const fs::path& output) {
  if (output.extension() == ".gp") return write_file_atomically(output, picture.script);
  const std::string terminal = terminal_for(picture, output);
  const WorkFolder work;
  const fs::path script = work / "script", drawn = work / "picture", messages = work / "messages";
  write_file_atomically(script,
                        fmt::format("set encoding utf8\nset terminal {}\nset output {}\n{}"
                                    "unset output\n",
                                    terminal, gnuplot_string(drawn.string()), picture.script));
  const int exit_code = run_gnuplot(script, messages);
  std::error_code ignored;
  if (exit_code != 0 || !fs::exists(drawn, ignored)) {
    fail("gnuplot could not draw {} (exit code {}): {}", output.string(), exit_code,
         read_file(messages));
  }
  write_file_atomically(output, read_file(drawn));
}

}  // namespace strata::results
