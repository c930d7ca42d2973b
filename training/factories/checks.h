// Checks of a configuration before anything is made from it. Each throws Error with the key or the
// file to change.
#pragma once

#include <cstdint>

#include "bert/config.h"
#include "config/run_config.h"

namespace strata::training {

// Throws Error if parallel.stages does not divide the layers or the ranks, or if ouroboros.modules
// has more modules than layers or needs another number of ranks.
void check_stages(const config::RunConfig& config, const bert::BertConfig& model, int ranks);
// For measurements of whole models: throws Error if there are stages or modules.
void check_one_stage(const config::RunConfig& config);
// For measurements of steps without delay: throws Error if backward is delayed.
void check_undelayed(const config::RunConfig& config);

// Throws Error if global batches on `ranks` ranks differ in size from `global_batch`, the samples
// of a global batch in the run that wrote the checkpoint.
void check_global_batch(const config::RunConfig& config, int ranks, int64_t global_batch);

// Throws Error if model.vocab is set, but does not exist or does not fit the model's vocab_size.
void check_vocabulary(const config::RunConfig& config, const bert::BertConfig& model);
// Throws Error if model.checkpoint is set, but neither this path nor PATH.index exists.
void check_checkpoint_path(const config::ModelConfig& model);
// Throws Error if a path in data.train, data.eval or data.shapes does not exist or may not be read.
// Opens no file.
void check_data_paths(const config::DataConfig& data);

}  // namespace strata::training
