#include "cli/options/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kOutputMark[] = "output";

// Outputs that no command reads are recognized by one of these texts near their beginning.
constexpr std::string_view kOwnOutputs[] = {
    "<meta name=\"generator\" content=\"Strata\">",  // reports
    "<testsuites name=\"strata check\"",
    "sarif-schema-2.1.0.json",
    "<desc>Drawn by Strata</desc>",
    "submitter,system,benchmark,division,usage,ruleset,",  // score --csv
    "what,a,b,quantity,unit,",                             // compare --csv
};

bool is_own_output(const fs::path& path) {
  constexpr size_t kBeginning = 4096;
  std::string text(kBeginning, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), kBeginning);
  text.resize(static_cast<size_t>(file.gcount()));
  return std::ranges::any_of(kOwnOutputs,
                             [&](std::string_view mark) { return text.find(mark) != text.npos; });
}

bool is_marked(const CLI::Option& option) {
  try {
    return const_cast<CLI::Option&>(option).get_validator(kOutputMark) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

// Returns the folder of the result tree that holds the file, or an empty path.
fs::path result_tree_of(const fs::path& file) {
  static const std::regex kOfRun("result_[0-9]+\\..*");
  const fs::path folder = file.parent_path();
  if (std::regex_match(file.filename().string(), kOfRun)) return folder;
  std::error_code ignored;
  for (const fs::path& path : list_directory(folder, ignored)) {
    if (path.extension() == ".txt" && std::regex_match(path.filename().string(), kOfRun))
      return folder;
  }
  for (fs::path below = folder; below != below.parent_path(); below = below.parent_path()) {
    const fs::path name = below.filename(), above = below.parent_path();
    const bool of_tree = name == "results" || name == "systems" || name == "benchmarks";
    if (of_tree && fs::is_directory(above / "results", ignored) &&
        fs::is_directory(above / "systems", ignored)) {
      return above;
    }
  }
  return {};
}

// Returns whether a link below `folder` leads to the file.
bool is_linked_from(const fs::path& folder, const fs::path& file) {
  std::error_code error, ignored;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_symlink(ignored) && fs::equivalent(at->path(), file, ignored)) return true;
  }
  return false;
}

// Adds the files and folders that an option's value may name: the value itself, the value of
// KEY=VALUE, and the folder of DIR/{A,B}.
void add_named(const std::string& value, std::vector<fs::path>& paths) {
  std::vector<fs::path> candidates = {value};
  if (const size_t equals = value.find('='); equals != value.npos)
    candidates.emplace_back(value.substr(equals + 1));
  if (const size_t brace = value.find('{'); brace != value.npos) {
    const size_t slash = value.rfind('/', brace);
    candidates.emplace_back(slash == value.npos ? "." : value.substr(0, slash + 1));
  }
  std::error_code ignored;
  for (fs::path& path : candidates) {
    if (!path.empty() && fs::exists(path, ignored)) paths.push_back(std::move(path));
  }
}

struct Output {
  std::string option;
  fs::path path;
};

void refuse_same(const std::vector<Output>& outputs) {
  std::error_code ignored;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path one = fs::weakly_canonical(outputs[i].path, ignored);
    for (size_t j = 0; j < i; ++j) {
      if (one != fs::weakly_canonical(outputs[j].path, ignored) ||
          (fs::exists(one, ignored) && !fs::is_regular_file(one, ignored))) {
        continue;
      }
      fail("{} {}: {} names the same file; name another file", outputs[i].option,
           outputs[i].path.string(), outputs[j].option);
    }
  }
}

void check_command(const CLI::App& command) {
  std::vector<Output> outputs;
  std::vector<fs::path> read;
  for (const CLI::Option* option : command.get_options()) {
    const bool written = is_marked(*option);
    if (option->get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option->results()) {
      if (written) {
        outputs.push_back({option->get_name(), value});
      } else {
        add_named(value, read);
      }
    }
  }
  refuse_same(outputs);
  for (const Output& output : outputs) refuse_to_replace(read, output.path, output.option);
}

}  // namespace

CLI::Option* names_output(CLI::Option* option, OutputKind kind) {
  return option->check(CLI::Validator(
      [kind](const std::string& value) -> std::string {
        if (value.empty()) return "the name of the file is empty";
        if (value != "-") return "";
        if (kind == OutputKind::kFile) return "-: is not standard output here; name a file";
        if (kind == OutputKind::kFolder) return "-: is not standard output here; name a folder";
        return "-: give /dev/stdout for standard output, or ./- for a file of this name";
      },
      "", kOutputMark));
}

void add_output_option(CLI::App& command, std::string& file) {
  names_output(command.add_option("-o,--output", file,
                                  "Write the output to this file instead of printing it"))
      ->type_name("FILE");
}

void print_or_write(const std::string& file, const std::string& text) {
  if (!file.empty()) return write_output(file, text);
  fmt::print("{}", text);
}

void guard_outputs(CLI::App& root) {
  root.parse_complete_callback([&root] {
    const CLI::App* command = &root;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    check_command(*command);
  });
}

void refuse_to_replace(const std::vector<fs::path>& read, const fs::path& output,
                       const std::string& option) {
  std::error_code ignored;
  if (!fs::is_regular_file(output, ignored)) return;
  const fs::path file = fs::canonical(output, ignored);
  const auto refuse = [&](const fs::path& folder, const char* what) {
    if (is_own_output(file)) return;
    fail("{} {}: exists already, in {}, {}; name another file", option, output.string(),
         folder.string(), what);
  };
  for (const fs::path& path : read) {
    if (fs::equivalent(path, output, ignored)) {
      fail("{} {}: is a file that the command reads; name another file", option, output.string());
    }
    if (!fs::is_directory(path, ignored)) continue;
    if (lies_in(file, fs::canonical(path, ignored))) refuse(path, "which the command reads");
    if (is_linked_from(path, file)) {
      fail("{} {}: a link in {}, which the command reads, leads to this file; name another file",
           option, output.string(), path.string());
    }
  }
  if (const fs::path tree = result_tree_of(file); !tree.empty()) refuse(tree, "a result tree");
}

}  // namespace strata::cli
