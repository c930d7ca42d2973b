// From a run configuration to the objects that do the work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bert/batches/device_batch.h"
#include "bert/config.h"
#include "bert/model/model.h"
#include "bert/weights/weights.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"
#include "device/backend.h"
#include "loadbalance/length_histogram.h"

namespace strata::training {

// One of the ranks of a machine.
struct LocalRank {
  int rank = 0;
  int count = 1;
  // The processors that each of them may run on; empty: what this process may.
  std::vector<std::vector<int>> affinities;
};

// The ranks of this job, and how many of them share this machine.
struct Ranks {
  comm::Communicator& communicator;
  LocalRank local;

  int rank() const { return communicator.rank(); }
  int size() const { return communicator.size(); }
  bool first() const { return rank() == 0; }
};

// model.config with the dropout that the configuration overrides.
bert::BertConfig make_bert_config(const config::RunConfig& config);

// Throws Error where parallel.stages does not divide the layers or the ranks, or where
// ouroboros.modules has more modules than layers, or other ranks than it needs.
void check_stages(const config::RunConfig& config, const bert::BertConfig& model, int ranks);

// Throws Error where there are stages or modules, for what works on whole models.
void check_one_stage(const config::RunConfig& config);
// Throws Error where backward is delayed, for what measures steps that are whole.
void check_undelayed(const config::RunConfig& config);

// Throws Error where model.vocab is given and is not there or not a vocabulary of this model's
// size.
void check_vocabulary(const config::RunConfig& config, const bert::BertConfig& model);

// Threads of a rank: as configured, or its share of the processors (see base/threads/processors.h).
int thread_count(const config::RunConfig& config, const LocalRank& local = {});

// `auto` precision is bf16 where the device multiplies it natively, else fp32.
// The machine's devices go to its ranks in order. A rank that computes on the host is bound to its
// NUMA node, where there are several: the calling thread, and those started from it.
std::unique_ptr<device::Backend> make_backend(const config::RunConfig& config,
                                              const LocalRank& local = {});

// Throws Error if there is no file that model.checkpoint names.
void check_checkpoint_path(const config::ModelConfig& model);

// Throws Error if a path in data.train, data.eval or data.shapes does not exist or may not be read.
// Opens no file.
void check_data_paths(const config::DataConfig& data);

// Why a run with these settings would mean nothing, a sentence each: files that are given twice,
// files that are both trained on and evaluated, no evaluation before the last step. Reads names of
// files only; find_shared_samples() in data/ compares samples.
std::vector<std::string> doubts_about(const config::RunConfig& config, int ranks);

// Opens data.train or data.eval without reading samples. Throws Error where a sample has more
// tokens or masked positions than the configuration and the model have room for.
std::unique_ptr<data::InstanceSource> open_data(const std::vector<std::filesystem::path>& paths,
                                                const config::DataConfig& data,
                                                const bert::BertConfig& model);

// How many samples have which length.
std::vector<loadbalance::LengthCount> histogram_of(const data::SampleClasses& classes);

// The most a micro-batch can hold: batch.micro_batch of the largest samples that data.* allow.
bert::BatchCapacity capacity_of(const config::RunConfig& config, const bert::BertConfig& model);
// The most a micro-batch of `samples` samples of `source` can hold.
bert::BatchCapacity capacity_of(const data::InstanceSource& source, int64_t samples);
// With memory for the largest micro-batches and for what this rank keeps of the parameters: those
// of its stage, or its shards. Throws Error where device, configuration and model do not suit each
// other.
std::unique_ptr<bert::Model> make_model(const config::RunConfig& config,
                                        const bert::BertConfig& model, device::Backend& backend,
                                        const comm::Communicator& communicator);
// The larger of the two in every respect.
bert::BatchCapacity larger(const bert::BatchCapacity& a, const bert::BatchCapacity& b);

// model.checkpoint, or random weights, drawn on as many threads as the rank has. `describe`
// receives lines for people: what was read, what the file lacks and how that starts.
bert::HostWeights make_weights(const config::RunConfig& config, const bert::ParameterLayout& layout,
                               uint64_t seed,
                               const std::function<void(const std::string&)>& describe,
                               const LocalRank& local = {});

}  // namespace strata::training
