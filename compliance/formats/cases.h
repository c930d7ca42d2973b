// Verdicts as a flat list, whatever format they are then written in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/outcome.h"
#include "compliance/package/package.h"

namespace strata::compliance {

// What is to be said of one place.
struct Annotation {
  std::string id;       // of the rule: Finding::id, or "package/..." of a section
  bool error = false;   // else a warning
  std::string message;  // UTF-8 without control characters but line feeds; several lines
  uint64_t line = 0;    // 1-based; 0: of the file
  std::string rule_file;
  int rule_line = 0;
  std::filesystem::path path;  // where that is not its case's
};

// One thing that is judged: a log, or a section of a package.
struct Case {
  std::string suite;  // what it belongs to, such as "Acme/system/bert"
  std::string name;
  std::filesystem::path
      path;  // the file or folder; from the working directory on where it lies there
  Outcome outcome = Outcome::kPassed;
  std::string reason;  // why it was not judged
  std::vector<Annotation> annotations;
};

std::vector<Case> cases_of(const std::vector<LogVerdict>& logs);
// The findings of a failed log are warnings where its folder's section "Logs" passes all the same.
std::vector<Case> cases_of(const std::vector<PackageVerdict>& packages);

// The same text in UTF-8: other bytes become U+FFFD, control characters
// but line feeds, and marks of direction, spaces.
std::string plain_text(std::string_view text);

}  // namespace strata::compliance
