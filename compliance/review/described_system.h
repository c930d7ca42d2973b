// Compares logged system and submitter with systems/<system>.json (requested in mlcommons/logging
// 241).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// The fields of a description that a log repeats. Missing fields are empty.
struct DescribedSystem {
  std::string submitter, division, status, accelerator;
  std::optional<double> nodes, accelerators_per_node;
};

// Never throws: returns empty fields for a text that is no description, which other checks report.
DescribedSystem read_described_system(std::string_view json);
// Reads the description in a file of at most 1 MiB. Returns empty fields if it cannot be read.
DescribedSystem described_system(const std::filesystem::path& file);
// Returns the system without its numbers of nodes and accelerators. Under weak scaling one model
// uses only a part of the system.
DescribedSystem without_counts(DescribedSystem system);

// Ids: review/system/submitter, division, benchmark, status, nodes, accelerators and placeholder.
// `benchmark` is the folder's name. Names agree if one contains the other by letters and digits
// ("Graphcore Ltd." and "Graphcore"), if they share a word that names a company, if one is the
// other's initials ("HPE"), or if a letter or two differ. A number before a platform's name may
// count nodes, accelerators of a node or all of them.
std::vector<Doubt> review_system(const RunRecord& record, const DescribedSystem& system,
                                 std::string_view benchmark);

// Checks that the runs of one folder agree on system and submitter: review/system/mixed.
std::vector<ReviewFinding> review_same_system(const std::vector<RunRecord>& runs);

// Returns whether both names may mean the same organisation.
bool same_organisation(std::string_view a, std::string_view b);

// The id of a finding about a platform or organisation that is the name of a variable.
inline constexpr std::string_view kPlaceholder = "review/system/placeholder";

// Returns the sum of the counts before the model's name in a platform's name: 14 for "X640 G40(8x
// A100-PCIe)+GPUBOX(6x A100-PCIe)" and "NVIDIA A100-PCIE-80GB".
std::optional<double> counted_accelerators(std::string_view platform, std::string_view model);
// Returns the number at the beginning of a platform's name: 128 for "128xNVIDIA DGX A100".
std::optional<double> counted_nodes(std::string_view platform);

}  // namespace strata::compliance
