// Samples, and how they are dealt to ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "bert/config.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"
#include "loadbalance/length_histogram.h"
#include "loadbalance/plans/batch_plan.h"

namespace strata::training {

// The most tokens of a sample: the smaller of data.max_length and the model's positions.
int64_t most_tokens(const config::DataConfig& data, const bert::BertConfig& model);

// Opens data.train or data.eval without reading samples. Throws Error if a file is unreadable, or a
// sample has more tokens or masked positions than `data` and the model allow.
std::unique_ptr<data::InstanceSource> open_data(const std::vector<std::filesystem::path>& paths,
                                                const config::DataConfig& data,
                                                const bert::BertConfig& model);

// The number of samples of each length.
std::vector<loadbalance::LengthCount> histogram_of(const data::SampleClasses& classes);

// The options of the batch plan that deals samples to `ranks` ranks. All stages of a replica get
// the same samples.
loadbalance::PlanOptions batch_plan_options(const config::RunConfig& config, int ranks,
                                            uint64_t seed);

}  // namespace strata::training
