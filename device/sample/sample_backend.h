// A complete backend of plain f32 loops on one thread, to copy and to replace piece by piece.
// docs/porting.md recommends an order. A port may also derive from it and override operations one
// by one, as long as its memory is host memory. The operations are in the files of this folder.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "device/plain/host_memory_backend.h"

namespace strata::device::sample {

// Streams differ only in their scratch memory, so that threads may use different streams at once.
class SampleBackend : public HostMemoryBackend {
 public:
  std::string name() const override { return "sample"; }
  std::string description() const override { return "sample, plain loops in f32, one thread"; }
  DType compute_dtype() const override { return DType::kF32; }
  DType master_dtype() const override { return DType::kF32; }
  // An operation that is not overridden throws Error with an alternative.
  bool supports(Operation operation, DType dtype) const override {
    return dtype == DType::kF32 && overrides<SampleBackend>(operation);
  }

  // flat.cc
  void convert(Stream, const Convert&) override;
  void l2_norm_squared(Stream, const L2NormSquared&) override;
  void clip_to_norm(Stream, const ClipToNorm&) override;

  // linear.cc
  void linear_forward(Stream, const LinearForward&) override;
  void linear_data_gradient(Stream, const LinearDataGradient&) override;
  void linear_weight_gradient(Stream, const LinearWeightGradient&) override;
  void activation_backward(Stream, const ActivationBackward&) override;

  // embeddings.cc
  void embeddings_forward(Stream, const EmbeddingsForward&) override;
  void embeddings_backward(Stream, const EmbeddingsBackward&) override;

  // layer_norm.cc
  void residual_layernorm_forward(Stream, const ResidualLayerNormForward&) override;
  void residual_layernorm_backward(Stream, const ResidualLayerNormBackward&) override;

  // attention.cc
  void attention_forward(Stream, const AttentionForward&) override;
  void attention_backward(Stream, const AttentionBackward&) override;

  // rows.cc
  void gather_rows(Stream, const GatherRows&) override;
  void scatter_add_rows(Stream, const ScatterAddRows&) override;

  // loss.cc
  void classifier_loss(Stream, const ClassifierLoss&) override;

  // standardization.cc
  void standardization_loss(Stream, const StandardizationLoss&) override;

  // optimizer.cc
#define STRATA_OVERRIDE(function, Arguments, without) \
  void function(Stream, const Arguments&) override;
  STRATA_ELEMENTWISE_UPDATES(STRATA_OVERRIDE)
#undef STRATA_OVERRIDE
  void lamb_direction(Stream, const LambDirection&) override;
  void lamb_apply(Stream, const LambApply&) override;

 private:
  // Returns [n] for `stream`, valid until its next operation. Allocates only for larger shapes than
  // before.
  float* scratch(Stream stream, int64_t n);

  std::array<std::vector<float>, kStreams> scratch_;  // one per stream
};

std::unique_ptr<Backend> make_sample_backend();

}  // namespace strata::device::sample
