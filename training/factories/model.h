// The model, and the largest micro-batch that it has room for.
#pragma once

#include <memory>

#include "bert/batches/device_batch.h"
#include "bert/config.h"
#include "bert/model/model.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"

namespace strata::training {

// Loads model.config and replaces its dropout and norm by the configured ones. Throws Error if the
// file is unreadable or the values do not fit together.
bert::BertConfig make_bert_config(const config::RunConfig& config);

// The options of a whole model on one rank. Throws Error if batch.round_tokens and model.precision
// do not suit the model.
bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model);
// The options on one of several ranks: with its stage, and with its shards if parameters are
// sharded.
bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model,
                                 const comm::Communicator& communicator);

// Returns the capacity for batch.micro_batch samples of the largest size that config.data allows.
bert::BatchCapacity capacity_of(const config::RunConfig& config, const bert::BertConfig& model);
// The capacity for any `samples` samples of `source`.
bert::BatchCapacity capacity_of(const data::InstanceSource& source, int64_t samples);
// Returns the element-wise maximum of two capacities.
bert::BatchCapacity larger(const bert::BatchCapacity& a, const bert::BatchCapacity& b);

// Takes memory for the largest micro-batches, and for the parameters that this rank keeps: its
// stage or its shards. Throws Error if device, configuration and model do not suit each other.
std::unique_ptr<bert::Model> make_model(const config::RunConfig& config,
                                        const bert::BertConfig& model, device::Backend& backend,
                                        const comm::Communicator& communicator);

}  // namespace strata::training
