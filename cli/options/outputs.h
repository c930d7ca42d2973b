// Options that name a command's outputs. No output replaces a file that the command reads. In
// result trees only Strata's own earlier outputs are replaced.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace strata::cli {

// A text can go to /dev/stdout. A file and a folder cannot.
enum class OutputKind { kText, kFile, kFolder };

// Marks `option` as the name of an output of its command, and returns it. Refuses "-" and says what
// to give instead.
CLI::Option* names_output(CLI::Option* option, OutputKind kind = OutputKind::kText);

// Adds --output to a command that prints, to print to a file instead. `file` must outlive the
// parsing.
void add_output_option(CLI::App& command, std::string& file);
// Prints `text`, or writes it to `file` if that is not empty. Throws Error as write_output does.
void print_or_write(const std::string& file, const std::string& text);

// Has `root` check the outputs of the given command before the command begins. Every
// other option and argument whose value names a file or a folder counts as read.
// Throws Error if two outputs name the same file, or if an output exists and
// - is a file that the command reads, under any name or link;
// - lies in a folder that the command reads, or in a result tree, and is not an earlier output of
//   this program.
void guard_outputs(CLI::App& root);

// Makes the same check for an output or inputs that no option names.
void refuse_to_replace(const std::vector<std::filesystem::path>& read,
                       const std::filesystem::path& output, const std::string& option);

}  // namespace strata::cli
