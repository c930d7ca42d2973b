// Merges submitters' trees into the tree of a round.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace strata::compliance {

struct MergedSubmitter {
  std::string name;
  std::vector<std::filesystem::path> sources;
  size_t files = 0;
  uint64_t bytes = 0;
};

struct MergeReport {
  std::filesystem::path output;
  std::vector<MergedSubmitter> submitters;
  std::vector<std::string> same;      // files that several sources have, byte for byte
  std::vector<std::string> left_out;  // entries that are no part of a submission, such as .git
};

// Copies `sources`, which are submitters (folders with results/ and systems/) or rounds, to the new
// folder `output`. A submitter whose parts come from several sources becomes one folder. Reads
// nothing outside of the sources: links are copied as links, and must stay within their submitter.
// Throws Error with every problem: files that two sources have with different bytes, links that
// leave, entries that are neither file, folder nor link, and failures to read or write. `output`
// appears complete or not at all.
MergeReport merge_submitters(const std::vector<std::filesystem::path>& sources,
                             const std::filesystem::path& output);

}  // namespace strata::compliance
