// BERT pretraining as a SystemUnderTest for the harness.
#pragma once

#include <memory>
#include <optional>

#include "bert/model/model.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"
#include "device/backend.h"
#include "harness/host/signal_thread.h"
#include "harness/system_under_test.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/evaluation.h"
#include "training/ranks/ranks.h"
#include "training/trace/step_trace.h"
#include "training/trace/tensorboard_trace.h"
#include "training/trace/timeline.h"
#include "training/trainer.h"

namespace strata::training {

class BertSystem final : public harness::SystemUnderTest {
 public:
  // Makes the device and the model, and checks that the data files exist. All ranks construct
  // together. References must outlive the system. Throws Error if the device or the model does not
  // suit the configuration.
  BertSystem(const config::RunConfig& config, const Ranks& ranks);
  // Uses a backend that the caller has made.
  BertSystem(const config::RunConfig& config, const Ranks& ranks,
             std::unique_ptr<device::Backend> backend);

  harness::SystemFacts system_facts() const override;
  std::vector<std::filesystem::path> data_files() const override;
  std::vector<std::string> tensors() const override;
  void prepare(uint64_t seed, const harness::RunFiles& files, const harness::Say& say) override;
  void warm_up(const harness::Say& say) override;
  std::optional<harness::CheckpointFacts> checkpoint_facts(const std::filesystem::path& folder,
                                                           const harness::Say& say) override;
  void restore(const std::filesystem::path& folder) override;
  harness::DataFacts start() override;
  harness::TrainedStep train_step() override;
  double evaluate() override;
  void begin_checkpoint(const std::filesystem::path& folder, const std::string& note) override;
  bool finish_checkpoint() override;
  void save() override;

 private:
  // The state of one experiment.
  struct Run {
    Run(BertSystem& system, uint64_t seed, const harness::RunFiles& files);

    harness::RunFiles files;
    std::unique_ptr<data::InstanceSource> train, eval;  // null before start()
    Trainer trainer;
    std::optional<Evaluator> evaluator;  // absent before start()
    StepTrace trace;
    TensorBoardTrace tensorboard;
    Timeline timeline;
    CheckpointWriter checkpoints;
    std::filesystem::path checkpoint;  // folder of the checkpoint that is being written
    std::string checkpoint_problem;    // why the checkpoint is lost; else empty
    int64_t steps = 0, resumed_after = 0;
  };

  // Returns true on all ranks if `problem` is empty on every rank.
  bool all_succeed(const std::string& problem) const;
  void check_suits(const CheckpointHeader& header) const;
  void warn_of_parts_elsewhere() const;
  uint32_t data_checksum() const;

  const config::RunConfig& config_;
  const Ranks& ranks_;
  const harness::SignalThread signal_thread_;  // before backend_, so that its threads block signals
  bert::BertConfig bert_;
  bert::ParameterLayout whole_;  // parameters of all stages
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<bert::Model> model_;
  bert::HostWeights weights_;  // initial weights of the experiment
  std::optional<Run> run_;
};

}  // namespace strata::training
