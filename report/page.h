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
  std::string version;  // Strata's
  std::string sources;  // where the runs came from, in words
  std::filesystem::path rcp_directory;
  std::vector<std::filesystem::path> plans, measurements;
  int refresh_seconds = 0;  // above 0: a page of `strata report --watch`
};

// A few sentences that a reader should leave with.
std::string summary_of(const ReportData& data);

// HTML in UTF-8. Its policy allows its own style sheet and script, by their hashes, and nothing
// else. Throws Error for plans and measurements that cannot be read.
std::string make_page(const ReportData& data, const PageInput& input);
// The same frame around a sentence, for a watched run that has no log yet.
std::string make_message_page(const std::string& message, const PageInput& input);

}  // namespace strata::report
