#include "scoring/system_names.h"

#include <map>
#include <set>

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using compliance::ResultFolder;

// Returns the parent of the submitter's folder in canonical form.
std::string place_of(const ResultFolder& folder) {
  if (folder.submitter_path.empty()) return "";
  std::error_code error;
  const fs::path whole = fs::absolute(folder.submitter_path, error);
  return (error ? folder.submitter_path : whole).lexically_normal().parent_path().string();
}

}  // namespace

std::vector<std::string> distinguishing_places(std::span<const ResultFolder* const> folders) {
  std::map<std::string, std::set<std::string>> places;  // by name
  for (const ResultFolder* folder : folders) places[folder->owner()].insert(place_of(*folder));
  std::vector<std::string> apart;
  for (const ResultFolder* folder : folders) {
    apart.push_back(places[folder->owner()].size() > 1 ? place_of(*folder) : "");
  }
  return apart;
}

std::string name_with_place(const ResultFolder& folder, const std::string& place) {
  return place.empty() ? folder.owner() : folder.owner() + " in " + place;
}

}  // namespace strata::scoring
