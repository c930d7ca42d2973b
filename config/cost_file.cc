#include "config/cost_file.h"

#include "base/error.h"
#include "base/files/files.h"
#include "config/yaml_document.h"

namespace strata::config {
namespace {

// Returns a coefficient of the model in `section`. Throws Error if it is missing or negative.
double coefficient(const ConfigValue& section, const char* name, const std::string& expected) {
  ConfigValue value = section;
  value.key = section.key + "." + name;
  for (const auto& entry : section.node) {
    if (entry.first.IsScalar() && entry.first.Scalar() == name) {
      value.node.reset(entry.second);
      const double number = value.number("a number of at least 0");
      if (number < 0) value.reject("a number of at least 0");
      return number;
    }
  }
  fail("{}: {}: is missing; give {}", section.source, value.key, expected);
}

loadbalance::CostModel model_in(const ConfigValue& section, const std::string& expected) {
  const loadbalance::CostModel cost = {coefficient(section, "linear", expected),
                                       coefficient(section, "quadratic", expected)};
  if (cost.linear + cost.quadratic == 0) section.reject(expected);
  return cost;
}

}  // namespace

loadbalance::CostModel read_cost(const ConfigValue& value, const std::string& expected) {
  if (value.is_word("auto")) return {};
  if (value.node.IsMap()) {
    const loadbalance::CostModel cost = model_in(value, expected);
    if (value.node.size() > 2) value.reject(expected);
    return cost;
  }
  const std::filesystem::path path = value.path(expected);
  ConfigValue measured = value;
  measured.node.reset(parse_yaml(read_file(path), path.string()));
  measured.source = path.string();
  if (!measured.node.IsMap()) measured.reject("a file that `strata bench cost` wrote");
  return model_in(measured, "a file that `strata bench cost` wrote");
}

}  // namespace strata::config
