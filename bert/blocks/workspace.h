// Memory that blocks share because they run in turn. Nothing in it outlives a forward or backward.
#pragma once

#include "bert/batches/device_batch.h"
#include "bert/config.h"
#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bert {

// T tokens, H hidden units, I intermediate units. All but the last group have the compute dtype.
struct Workspace {
  Workspace(device::Backend& backend, const BertConfig& config, const BatchCapacity& capacity,
            bool float8);

  device::Buffer sublayer;        // [T, H] input of a LayerNorm's dropout, and its gradient
  device::Buffer d_residual;      // [T, H]; with pre-LN also the residual stream between sublayers
  device::Buffer d_context;       // [T, H]
  device::Buffer d_intermediate;  // [T, I]
  device::Buffer d_query_key_value;  // [T, 3H]

  // dy of the encoder's linear layers in FP8, [T, out]; empty without FP8.
  struct {
    device::Buffer query_key_value, attention_output, intermediate, output;
  } float8_dy;
};

}  // namespace strata::bert
