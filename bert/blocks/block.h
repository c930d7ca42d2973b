// A part of the model that runs as one: what a schedule orders.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/range.h"
#include "bert/batches/micro_batch.h"
#include "bert/blocks/activations.h"
#include "bert/config.h"
#include "bert/parameters/parameter_store.h"
#include "device/backend.h"

namespace strata::bert {

class Standardizer;
struct Workspace;

// What all blocks of a model share; it outlives them.
struct BlockContext {
  const BertConfig& config;
  device::Backend& backend;
  ParameterStore& parameters;
  Workspace& workspace;
  BatchCapacity capacity;                // of a micro-batch, rounded up as batches are
  Standardizer* standardizer = nullptr;  // null: no standardization loss

  bool normalizes() const { return config.norm != Norm::kNone; }

  // Memory for activations, which are of the compute dtype, and for statistics, of the master
  // dtype.
  device::Buffer activation_buffer(int64_t elements) const {
    return {backend, static_cast<size_t>(elements) * size_of(backend.compute_dtype())};
  }
  device::Buffer statistics_buffer(int64_t elements) const {
    return {backend, static_cast<size_t>(elements) * size_of(backend.master_dtype())};
  }
  // What lies in such memory.
  device::Tensor activation(const device::Buffer& buffer, int64_t rows, int64_t cols) const {
    return {buffer.data(), backend.compute_dtype(), rows, cols};
  }
  device::Tensor statistics(const device::Buffer& buffer, int64_t rows, int64_t cols) const {
    return {buffer.data(), backend.master_dtype(), rows, cols};
  }
};

class Block {
 public:
  // `index`: its place in the order of forward. `gradients`: the arena elements of its parameters.
  Block(const BlockContext& context, std::string name, int index, Range gradients)
      : context_(context), name_(std::move(name)), index_(index), gradients_(gradients) {}
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::string& name() const { return name_; }  // "embeddings", "layer_3", "heads"
  int index() const { return index_; }
  // The gradients that are complete once the backward of a step's last micro-batch is through.
  const Range& gradients() const { return gradients_; }
  // The one that reads this block's output.
  void connect(const Block& next) { next_ = &next; }

  virtual std::unique_ptr<BlockActivations> make_activations() const = 0;

  // Issued on Stream::kCompute. Backward follows the forward of the same micro-batch with the same
  // activations, and the backward of the block after this one.
  virtual void forward(const MicroBatch& micro_batch, const Activations& activations) = 0;
  virtual void backward(const MicroBatch& micro_batch, const Activations& activations) = 0;
  // The same in two parts. Once a layer's first part is through, the gradients of its first half
  // (LayerPlace::halfway) are complete, and nothing reads their weights any more.
  virtual void backward_half(const MicroBatch&, const Activations&) {}
  virtual void backward_rest(const MicroBatch& micro_batch, const Activations& activations) {
    backward(micro_batch, activations);
  }
  // Called after the last backward of a step, or of a round: makes gradients() whole.
  virtual void complete() {}

  // Whether forward may run again for the same micro-batch, right before its backward.
  virtual bool recomputes() const { return true; }

  // Where the block before this one also writes this block's input, for a GEMM in FP8.
  virtual device::Float8Copy input_copy(const MicroBatch&, const Activations&) const { return {}; }

 protected:
  device::Float8Copy output_copy(const MicroBatch& micro_batch,
                                 const Activations& activations) const {
    return next_ ? next_->input_copy(micro_batch, activations) : device::Float8Copy();
  }

  const BlockContext& context_;

 private:
  std::string name_;
  int index_;
  Range gradients_;
  const Block* next_ = nullptr;
};

}  // namespace strata::bert
