// Verdicts as a flat list for all formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/outcome.h"
#include "compliance/package/package.h"

namespace strata::compliance {

// A message about one place.
struct Annotation {
  std::string id;       // rule id: Finding::id, or "package/..." of a section
  bool error = false;   // false: a warning
  std::string message;  // UTF-8 without control characters except line feeds; several lines
  uint64_t line = 0;    // counted from 1; 0: the whole file
  std::string rule_file;
  int rule_line = 0;
  std::filesystem::path path;  // empty: the case's path
};

// A judged log, or a judged section of a package.
struct Case {
  std::string suite;  // the parent, such as "Acme/system/bert"
  std::string name;
  // The file or folder, relative to the working directory if it is below.
  std::filesystem::path path;
  Outcome outcome = Outcome::kPassed;
  std::string reason;  // why it was not judged
  std::vector<Annotation> annotations;
};

std::vector<Case> cases_of(const std::vector<LogVerdict>& logs);
// The findings of a failed log are warnings if its folder's section "Logs" still passes.
std::vector<Case> cases_of(const std::vector<PackageVerdict>& packages);

// Returns the text in UTF-8. Other bytes become U+FFFD; control characters except line feeds, and
// marks of direction, become spaces.
std::string plain_text(std::string_view text);

}  // namespace strata::compliance
