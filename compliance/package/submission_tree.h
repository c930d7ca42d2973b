// The folders of a submission: <org>/{systems/<system>.json,
// results/<system>/<benchmark>/result_N.txt}. HPC has a folder strong or weak between system and
// benchmark.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compliance/checks/rounds.h"

namespace strata::compliance {

struct ResultFolder {
  std::filesystem::path path;
  // The folder that holds results/ and systems/; empty outside of a submission.
  std::filesystem::path submitter_path;
  std::string submitter;  // the submitter's name
  std::string system;
  std::string benchmark;
  bool weak_scaling = false;                // only HPC
  bool strong_scaling = false;              // only HPC
  std::vector<std::filesystem::path> logs;  // result_*.txt, in order of their numbers

  // Returns "system/benchmark", for HPC "system/weak/benchmark".
  std::string place() const {
    return system + (weak_scaling ? "/weak/" : strong_scaling ? "/strong/" : "/") + benchmark;
  }
  // Returns submitter and system for people, or the path if the tree is no submission.
  std::string owner() const {
    if (submitter_path.empty()) return path.string();
    return submitter + ' ' + system + (weak_scaling ? " (weak scaling)" : "");
  }
};

// Folders that could not be listed, one line each: nobody has checked their contents.
using ListingProblems = std::vector<std::string>;

// The folder of HPC's weak scaling for models that were left out of a result. Its logs are not
// results.
inline constexpr char kPrunedResults[] = "pruned_results";

// Returns all folders from `directory` down that hold result_*.txt files, sorted by path, except
// kPrunedResults. Symbolic links to folders are not followed. Throws Error if `directory` is not a
// directory. Adds folders below it that cannot be listed to `problems`; if that is null, throws
// Error.
std::vector<ResultFolder> find_result_folders(const std::filesystem::path& directory,
                                              ListingProblems* problems = nullptr);

// Returns whether the name is that of a result's log: result_*.txt.
bool is_result_log(const std::filesystem::path& path);

// Returns the result_*.txt files of one folder, as `files` lists them.
std::vector<std::filesystem::path> result_logs(const std::filesystem::path& folder,
                                               ListingProblems* problems = nullptr);

// Return the subfolders and files of a folder, sorted by name; links are followed. Empty if there
// is no such folder. Adds a folder that cannot be listed to `problems`; if that is null, throws
// Error.
std::vector<std::filesystem::path> subfolders(const std::filesystem::path& folder,
                                              ListingProblems* problems = nullptr);
std::vector<std::filesystem::path> files(const std::filesystem::path& folder,
                                         ListingProblems* problems = nullptr);

// Calls `visit` with everything below `directory`, folder by folder in order of their paths.
// Symbolic links are visited, not followed.
void walk(const std::filesystem::path& directory,
          const std::function<void(const std::filesystem::directory_entry&)>& visit,
          ListingProblems& problems);

// Infers usage and ruleset of a tree of results, unless they are given. The usage is that of the
// first benchmark that a log or folder names. The ruleset is a round in the path of `directory`,
// else the one of the first log that allows it. Throws Error if there is no such log.
RulesetChoice infer_ruleset_of_tree(const std::filesystem::path& directory,
                                    const std::string& usage, const std::string& ruleset);

// Returns the submitters of a round: the folders in it that have both results/ and systems/.
std::vector<std::filesystem::path> find_submitters(const std::filesystem::path& round);

// Expands "round/{A,B}" to round/A and round/B, and "round/{*}" to the submitters of round, as the
// official summarizer does. Returns any other path, and an existing one, unchanged. Throws Error if
// a round has none of them.
std::vector<std::string> expand_submitters(const std::string& path);

}  // namespace strata::compliance
