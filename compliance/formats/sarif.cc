#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "compliance/formats/formats.h"
#include "compliance/sources/rule_store.h"
#include "compliance/sources/sha256.h"

namespace strata::compliance {
namespace {

using nlohmann::json;

// Returns a path as a URI reference (RFC 3986), relative if the path is.
std::string uri_of(const std::filesystem::path& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string uri = path.is_absolute() ? "file://" : "";
  for (const char c : path.string()) {
    uri += kPlain.find(c) != kPlain.npos ? std::string(1, c)
                                         : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

json location_of(const Case& one, const Annotation& annotation) {
  const std::filesystem::path& path = annotation.path.empty() ? one.path : annotation.path;
  json artifact = {{"uri", uri_of(path)}};
  if (path.is_relative()) artifact["uriBaseId"] = "%SRCROOT%";
  json physical = {{"artifactLocation", artifact}};
  if (annotation.line > 0) physical["region"] = {{"startLine", annotation.line}};
  return {{"physicalLocation", physical}};
}

}  // namespace

std::string sarif(const std::vector<Case>& cases) {
  json rules = json::array(), results = json::array();
  std::map<std::string, size_t> known;
  for (const Case& one : cases) {
    for (const Annotation& annotation : one.annotations) {
      const auto [rule, is_new] = known.emplace(annotation.id, known.size());
      if (is_new) {
        json entry = {{"id", annotation.id}, {"shortDescription", {{"text", annotation.id}}}};
        if (annotation.rule_line > 0) {
          entry["properties"] = {{"file", plain_text(annotation.rule_file)},
                                 {"line", annotation.rule_line}};
        }
        rules.push_back(std::move(entry));
      }
      results.push_back(
          {{"ruleId", annotation.id},
           {"ruleIndex", rule->second},
           {"level", annotation.error ? "error" : "warning"},
           {"message", {{"text", annotation.message}}},
           {"locations", json::array({location_of(one, annotation)})},
           {"partialFingerprints",
            {{"strata/v1",
              sha256(annotation.id + '\n' +
                     uri_of(annotation.path.empty() ? one.path : annotation.path))}}}});
    }
  }
  const json out = {
      {"$schema",
       "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
       "sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       json::array({{{"tool",
                      {{"driver",
                        {{"name", "strata check"}, {"version", own_version()}, {"rules", rules}}}}},
                     {"columnKind", "unicodeCodePoints"},
                     {"results", results}}})}};
  return json_text(out, 2) + '\n';
}

}  // namespace strata::compliance
