// Reads any bytes as a log: checks, reviews, convergence and seeds.
#include <cstdint>
#include <string>

#include "compliance/checks/check_log.h"
#include "compliance/checks/convergence.h"
#include "compliance/package/seeds.h"
#include "compliance/review/described_system.h"
#include "compliance/review/review.h"
#include "compliance/review/run_windows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::compliance;
  static RuleStore rules;
  const std::string text(reinterpret_cast<const char*>(data), size);
  strata::mllog::LogReader::from_text(text, "fuzz", strata::mllog::LogFormat::kMll);
  const strata::mllog::LogReader log = strata::mllog::LogReader::from_text(text, "fuzz");
  for (const char* ruleset : {"2.0.0", "5.0.0"}) {
    for (const Finding& finding : check_log(log, rules, "training", ruleset).errors)
      describe(finding);
  }
  read_convergence(log, "5.0.0");
  check_seeds({read_seeds(log)});
  RunRecord record = read_run_record(log);
  review_log(log, record, "1.1.0");
  record.submission["benchmark"] = record.submission["division"] = {};
  record.submission["benchmark"].text = "bert";
  record.submission["division"].text = "closed";
  review_log(log, record, "2.0.0");
  review_system(record, {"A", "open", "cloud", "NVIDIA A100", 2, 8}, "bert");
  review_runs({record, record, {}, record, record}, {record}, 3, 1);
  return 0;
}
