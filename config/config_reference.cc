#include <fmt/format.h>

#include <string>

#include "config/run_config.h"
#include "config/run_config_checks.h"
#include "config/run_config_keys.h"

namespace strata::config {
namespace {

constexpr char kIntroduction[] =
    "# Run configuration\n"
    "\n"
    "`strata train --config FILE` reads one YAML file. A key that is absent has its default. "
    "Errors name file, line, key\n"
    "and reason. `strata train --describe-config` prints this page.\n"
    "\n"
    "- `--set section.key=VALUE` overrides the file and may be repeated. VALUE is YAML: `--set "
    "optimizer.lr=1e-3`,\n"
    "  `--set batch.load_balance.strata=[64,128]`.\n"
    "- Paths are relative to the file's directory, in `--set` to the current one; `~/` is the home "
    "directory. Variables\n"
    "  (`$X`) and patterns (`*`) in paths are refused.\n"
    "- In quotes, `auto` and `none` are ordinary text.\n"
    "- The configuration of a run, with absolute paths, lies beside its log as `result_N.yaml`.\n";

}  // namespace

std::string config_reference() {
  const RunConfig defaults;
  std::string page = kIntroduction;
  for (const ConfigSection& section : config_sections()) {
    page += fmt::format("\n## `{}`\n\n{}\n\n", section.name, section.description);
    page += "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for (const ConfigKey& key : section.keys) {
      const std::string standard =
          key.required ? "*required*" : fmt::format("`{}`", key.write(defaults));
      page +=
          fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.type, standard, key.description);
    }
  }
  page +=
      "\n## Combinations\n\nThese settings are refused together. If only some of their values are "
      "refused, the reason after the colon names them.\n\n" +
      combinations_reference();
  return page;
}

}  // namespace strata::config
