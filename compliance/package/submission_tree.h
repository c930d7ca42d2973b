// The folders of a submission: <org>/{systems/<system>.json,
// results/<system>/<benchmark>/result_N.txt}; for HPC there is a folder strong or weak between
// system and benchmark.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compliance/checks/rounds.h"

namespace strata::compliance {

struct ResultFolder {
  std::filesystem::path path;
  std::filesystem::path
      submitter_path;     // that holds results/ and systems/; empty where the tree is not one
  std::string submitter;  // its name
  std::string system;
  std::string benchmark;
  bool weak_scaling = false;                // HPC
  bool strong_scaling = false;              // HPC
  std::vector<std::filesystem::path> logs;  // result_*.txt, in order of their numbers

  // "system/benchmark", for HPC "system/weak/benchmark".
  std::string place() const {
    return system + (weak_scaling ? "/weak/" : strong_scaling ? "/strong/" : "/") + benchmark;
  }
  // Submitter and system, for people; the path where the tree is not a submission's.
  std::string owner() const {
    if (submitter_path.empty()) return path.string();
    return submitter + ' ' + system + (weak_scaling ? " (weak scaling)" : "");
  }
};

// What could not be listed, a line each: a part of a tree that nobody has looked at.
using ListingProblems = std::vector<std::string>;

// The folder of HPC's weak scaling that takes the models which were left out of a result. Its logs
// are not results.
inline constexpr char kPrunedResults[] = "pruned_results";

// All folders under `directory`, itself included, that hold result_*.txt files, sorted by path,
// without those called kPrunedResults.
// Symbolic links to folders are not followed. Throws Error where `directory` is not a directory.
// Folders below it that cannot be listed are added to `problems`; without it they throw as well.
std::vector<ResultFolder> find_result_folders(const std::filesystem::path& directory,
                                              ListingProblems* problems = nullptr);

// Whether a file is called as the log of a result is: result_*.txt.
bool is_result_log(const std::filesystem::path& path);

// The result_*.txt files of one folder, as `files` lists them.
std::vector<std::filesystem::path> result_logs(const std::filesystem::path& folder,
                                               ListingProblems* problems = nullptr);

// The subfolders and files of a folder, sorted by name; links are followed. Empty where there is no
// such folder. One that is there and cannot be listed is added to `problems`; without it that
// throws Error.
std::vector<std::filesystem::path> subfolders(const std::filesystem::path& folder,
                                              ListingProblems* problems = nullptr);
std::vector<std::filesystem::path> files(const std::filesystem::path& folder,
                                         ListingProblems* problems = nullptr);

// Calls `visit` with everything below `directory`, folder by folder in order of their paths.
// Symbolic links are visited, not followed.
void walk(const std::filesystem::path& directory,
          const std::function<void(const std::filesystem::directory_entry&)>& visit,
          ListingProblems& problems);

// Usage and ruleset of a tree of results, as far as they are not given. Usage: that of the
// benchmark that the first telling log or folder names. Ruleset: a round in the path of
// `directory`, else the one of the first log that allows it. Throws Error if there is no such log.
RulesetChoice infer_ruleset_of_tree(const std::filesystem::path& directory,
                                    const std::string& usage, const std::string& ruleset);

// The submitters of a round: the folders in it that have both results/ and systems/.
std::vector<std::filesystem::path> find_submitters(const std::filesystem::path& round);

// "round/{A,B}" for round/A and round/B, "round/{*}" for the submitters of round, as the official
// summarizer takes them; any other path, and one that is there, as it is. Throws Error where a
// round has none of them.
std::vector<std::string> expand_submitters(const std::string& path);

}  // namespace strata::compliance
