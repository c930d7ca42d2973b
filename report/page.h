// The page of a report: one file that needs no network.
#pragma once

#include <string>
#include <vector>

#include "base/files/files.h"
#include "report/runs/report_data.h"
#include "report/sections/section.h"

namespace strata::report {

// The style sheet and the script of every page.
const std::vector<EmbeddedFile>& embedded_files();

struct PageInput {
  std::string title;
  std::string version;  // Strata's version
  std::string sources;  // sources of the runs, in words
  std::filesystem::path rcp_directory;
  std::vector<std::filesystem::path> plans, measurements;
  int refresh_seconds = 0;  // above 0: a page of `strata report --watch`
};

// Returns a few sentences with the main results. `watched`: runs may still be missing.
std::string summary_of(const ReportData& data, bool watched);

// Returns HTML in UTF-8. Its policy allows only its own style sheet and script, by their hashes.
// Throws Error if plans or measurements cannot be read.
std::string make_page(const ReportData& data, const PageInput& input);
// Returns a page with only a sentence, for a watched run without a log.
std::string make_message_page(const std::string& message, const PageInput& input);

}  // namespace strata::report
