#include "device/reference/reference_backend.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "device/reference/operations.h"

namespace strata::device {
namespace {

// Everything is finished when a call returns, so streams and events need no state.
class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }
  std::string description() const override { return "naive loops in double, one thread"; }
  DType compute_dtype() const override { return DType::kF64; }
  DType master_dtype() const override { return DType::kF64; }
  bool has_lamb() const override { return true; }
  bool has_madgrad() const override { return true; }
  bool has_acclip() const override { return true; }
  bool has_pre_norm() const override { return true; }
  bool has_standardization() const override { return true; }
  bool has_float8() const override { return true; }

  void* allocate(size_t bytes) override {
    constexpr size_t kAlignment = 64;
    const size_t padded = (bytes / kAlignment + 1) * kAlignment;
    void* memory = padded > bytes ? std::aligned_alloc(kAlignment, padded) : nullptr;
    if (!memory) fail("reference: cannot allocate {} bytes", bytes);
    return std::memset(memory, 0, padded);
  }
  void release(void* memory) override { std::free(memory); }
  void copy_to_device(Stream, void* device, const void* host, size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void copy_to_host(Stream, void* host, const void* device, size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  void fill_zero(Stream, void* device, size_t bytes) override {
    if (bytes > 0) std::memset(device, 0, bytes);
  }

  Event record(Stream) override { return 0; }
  void wait(Stream, Event) override {}
  void synchronize(Stream) override {}

  void linear_forward(Stream, const LinearForward& op) override { reference::linear_forward(op); }
  void linear_data_gradient(Stream, const LinearDataGradient& op) override {
    reference::linear_data_gradient(op);
  }
  void linear_weight_gradient(Stream, const LinearWeightGradient& op) override {
    reference::linear_weight_gradient(op);
  }
  void activation_backward(Stream, const ActivationBackward& op) override {
    reference::activation_backward(op);
  }
  void attention_forward(Stream, const AttentionForward& op) override {
    reference::attention_forward(op);
  }
  void attention_backward(Stream, const AttentionBackward& op) override {
    reference::attention_backward(op);
  }
  void residual_layernorm_forward(Stream, const ResidualLayerNormForward& op) override {
    reference::residual_layernorm_forward(op);
  }
  void residual_layernorm_backward(Stream, const ResidualLayerNormBackward& op) override {
    reference::residual_layernorm_backward(op);
  }
  void residual_add_forward(Stream, const ResidualAddForward& op) override {
    reference::residual_add_forward(op);
  }
  void residual_add_backward(Stream, const ResidualAddBackward& op) override {
    reference::residual_add_backward(op);
  }
  void embeddings_forward(Stream, const EmbeddingsForward& op) override {
    reference::embeddings_forward(op);
  }
  void embeddings_backward(Stream, const EmbeddingsBackward& op) override {
    reference::embeddings_backward(op);
  }
  void gather_rows(Stream, const GatherRows& op) override { reference::gather_rows(op); }
  void scatter_add_rows(Stream, const ScatterAddRows& op) override {
    reference::scatter_add_rows(op);
  }
  void classifier_loss(Stream, const ClassifierLoss& op) override {
    reference::classifier_loss(op);
  }
  void convert(Stream, const Convert& op) override { reference::convert(op); }
  void l2_norm_squared(Stream, const L2NormSquared& op) override { reference::l2_norm_squared(op); }
  void clip_to_norm(Stream, const ClipToNorm& op) override { reference::clip_to_norm(op); }
  void adam_update(Stream, const AdamUpdate& op) override { reference::adam_update(op); }
  void lamb_direction(Stream, const LambDirection& op) override { reference::lamb_direction(op); }
  void lamb_apply(Stream, const LambApply& op) override { reference::lamb_apply(op); }
  void madgrad_update(Stream, const MadgradUpdate& op) override { reference::madgrad_update(op); }
  void acclip_update(Stream, const AcClipUpdate& op) override { reference::acclip_update(op); }
  void standardization_loss(Stream, const StandardizationLoss& op) override {
    reference::standardization_loss(op);
  }
  void round_to_float8(Stream, const RoundToFloat8& op) override { reference::round_to_float8(op); }
  void float8_update(Stream, const Float8Update& op) override { reference::float8_update(op); }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace strata::device
