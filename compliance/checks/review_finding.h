// A finding for a reviewer that no official rule covers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace strata::compliance {

struct ReviewFinding {
  std::string id;              // id of the check, the same in every log: "review/system/submitter"
  std::string text;            // a sentence, printable
  std::filesystem::path path;  // the file or folder it is about
  uint64_t line = 0;           // counted from 1; 0: no single line

  // Returns "result_0.txt, line 7: TEXT [ID]".
  std::string describe() const {
    std::string where = path.filename().string();
    if (line > 0) where += ", line " + std::to_string(line);
    return (where.empty() ? "" : where + ": ") + text + " [" + id + "]";
  }
};

}  // namespace strata::compliance
