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
  std::vector<std::string> left_out;  // what is no part of a submission, such as .git
};

// Copies `sources`, submitters (folders with results/ and systems/) or rounds of such, to the
// folder `output`, which must not be there. A submitter whose parts come from several sources is
// one folder of it. Nothing is read that lies outside of the sources: links are copied as links,
// and must stay within their submitter. Throws Error, naming each, for files that two sources have
// with different bytes, for links that leave, for what is neither file, folder nor link, and for
// what cannot be read or written; `output` is then not there. Under its name it is whole or absent.
MergeReport merge_submitters(const std::vector<std::filesystem::path>& sources,
                             const std::filesystem::path& output);

}  // namespace strata::compliance
