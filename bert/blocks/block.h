// A part of the model that is scheduled as a unit.
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

// State that all blocks of a model share. It must outlive them.
struct BlockContext {
  const BertConfig& config;
  device::Backend& backend;
  ParameterStore& parameters;
  Workspace& workspace;
  BatchCapacity capacity;                // capacity of a micro-batch, after rounding
  Standardizer* standardizer = nullptr;  // null: no standardization loss

  bool normalizes() const { return config.norm != Norm::kNone; }

  // Return memory for activations in the compute dtype, and for statistics in the master dtype.
  device::Buffer activation_buffer(int64_t elements) const {
    return {backend, static_cast<size_t>(elements) * size_of(backend.compute_dtype())};
  }
  device::Buffer statistics_buffer(int64_t elements) const {
    return {backend, static_cast<size_t>(elements) * size_of(backend.master_dtype())};
  }
  // Return a tensor in such memory.
  device::Tensor activation(const device::Buffer& buffer, int64_t rows, int64_t cols) const {
    return {buffer.data(), backend.compute_dtype(), rows, cols};
  }
  device::Tensor statistics(const device::Buffer& buffer, int64_t rows, int64_t cols) const {
    return {buffer.data(), backend.master_dtype(), rows, cols};
  }
};

class Block {
 public:
  // `index` is the position in forward order. `gradients` are the arena elements of its parameters.
  Block(const BlockContext& context, std::string name, int index, Range gradients)
      : context_(context), name_(std::move(name)), index_(index), gradients_(gradients) {}
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::string& name() const { return name_; }  // "embeddings", "layer_3", "heads"
  int index() const { return index_; }
  // Arena elements of this block's gradients.
  const Range& gradients() const { return gradients_; }
  // Sets the block that reads this block's output.
  void connect(const Block& next) { next_ = &next; }

  virtual std::unique_ptr<BlockActivations> make_activations() const = 0;

  // Issued on Stream::kCompute. backward() requires that forward() of the same micro-batch ran with
  // the same activations, and that the next block's backward() ran.
  virtual void forward(const MicroBatch& micro_batch, const Activations& activations) = 0;
  virtual void backward(const MicroBatch& micro_batch, const Activations& activations) = 0;
  // The two parts of backward(). After a layer's first part, the gradients of its first half
  // (LayerPlace::halfway) are complete, and nothing reads their weights any more.
  virtual void backward_half(const MicroBatch&, const Activations&) {}
  virtual void backward_rest(const MicroBatch& micro_batch, const Activations& activations) {
    backward(micro_batch, activations);
  }
  // Completes gradients(). Called after the last backward before these gradients are reduced.
  virtual void complete() {}

  // True if forward may run again for the same micro-batch, right before its backward.
  virtual bool recomputes() const { return true; }

  // Returns FP8 memory for a copy of this block's input. The previous block writes the copy.
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
