// Checks the output of `--json` against its schema in docs/schemas/.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/files/files.h"
#include "tests/support/oracle.h"

namespace strata::testing_support {

constexpr char kNoJsonSchema[] =
    "/usr/bin/python3 has no jsonschema 4 (apt install python3-jsonschema)";

inline bool has_json_schema() {
  static const bool there =
      run_command("/usr/bin/python3 -c 'from jsonschema import Draft202012Validator'").status == 0;
  return there;
}

// Does nothing without jsonschema; JsonSchemas.CanBeChecked reports that.
inline void expect_schema(const std::string& name, const std::string& json) {
  if (!has_json_schema()) return;
  const std::string file = ::testing::TempDir() + "strata.json." + std::to_string(::getpid());
  write_file_atomically(file, json);
  const CommandResult result =
      run_command("/usr/bin/python3 " STRATA_SOURCE_DIR
                  "/tests/support/json_schema.py " STRATA_SOURCE_DIR "/docs/schemas/" +
                  name + ".json " + file);
  std::filesystem::remove(file);
  EXPECT_EQ(result.status, 0) << name << ": " << result.output << json.substr(0, 4000);
}

}  // namespace strata::testing_support
