// Reads any bytes as a measured cost model, and as the value of a configuration's key.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "config/cost_file.h"
#include "config/yaml_document.h"
#include "tests/support/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::config;
  static const strata::fuzz::FuzzFile file(".json");
  const std::string text(reinterpret_cast<const char*>(data), size);
  file.write(text);
  ConfigValue value{.key = "cost", .source = "fuzz", .base = "/nowhere"};
  try {
    value.node.reset(YAML::Node(file.path().string()));
    read_cost(value, "a cost model");
  } catch (const strata::Error&) {
  }
  try {
    value.node.reset(parse_yaml(text, "fuzz"));
    if (!value.node.IsScalar()) read_cost(value, "a cost model");
  } catch (const strata::Error&) {
  }
  return 0;
}
