// What logs say of the system and its submitter against systems/<system>.json (asked for in
// mlcommons/logging 241).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// The fields of a description that a log repeats; empty where it lacks them.
struct DescribedSystem {
  std::string submitter, division, status, accelerator;
  std::optional<double> nodes, accelerators_per_node;
};

// Never throws: a text that is no description describes nothing, and other checks say so.
DescribedSystem read_described_system(std::string_view json);
// Reads the description in a file of at most 1 MiB. A file that cannot be read describes nothing.
DescribedSystem described_system(const std::filesystem::path& file);
// The same system without its numbers of nodes and accelerators. Under weak scaling one model takes
// a part of the system only.
DescribedSystem without_counts(DescribedSystem system);

// Ids review/system/submitter, division, benchmark, status, nodes, accelerators and placeholder.
// `benchmark` is the folder's name. Names agree where one holds the other, letters and digits
// alone ("Graphcore Ltd." and "Graphcore"), where they share a word that names somebody, where one
// is the other's initials ("HPE"), and where a letter or two differ. A number before a platform's
// name may count nodes, accelerators of a node or all of them.
std::vector<Doubt> review_system(const RunRecord& record, const DescribedSystem& system,
                                 std::string_view benchmark);

// Whether the runs of one folder say the same of system and submitter: review/system/mixed.
std::vector<Remark> review_same_system(const std::vector<RunRecord>& runs);

// Whether both name the same organisation, or may do so.
bool same_organisation(std::string_view a, std::string_view b);

// The id of a platform or organisation that is the name of a variable.
inline constexpr std::string_view kPlaceholder = "review/system/placeholder";

// How many accelerators a platform's name counts before the model's name, all taken together: 14
// of "X640 G40(8x A100-PCIe)+GPUBOX(6x A100-PCIe)" for "NVIDIA A100-PCIE-80GB".
std::optional<double> counted_accelerators(std::string_view platform, std::string_view model);
// The number that a platform's name begins with: 128 of "128xNVIDIA DGX A100".
std::optional<double> counted_nodes(std::string_view platform);

}  // namespace strata::compliance
