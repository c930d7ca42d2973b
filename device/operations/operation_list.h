// The operations of a backend, declared once. Backend and the classes that dispatch to it or wrap
// it are generated from this list. device/operations/operations.h defines what each computes.
//
// A new operation needs a struct of arguments, a line here, its loops in device/reference/ and the
// other backends that support it, and a file in tests/conformance/.
#pragma once

#include "device/operations/operations.h"

// X(function, arguments, without). `without` is empty for operations that every port must have.
// Otherwise it says what a backend lacks without the operation, and what to use instead.

// Operations on matrices of the compute dtype.
#define STRATA_MATRIX_OPERATIONS(X)                                                         \
  X(linear_forward, LinearForward, "")                                                      \
  X(linear_data_gradient, LinearDataGradient, "")                                           \
  X(linear_weight_gradient, LinearWeightGradient, "")                                       \
  X(activation_backward, ActivationBackward, "")                                            \
  X(embeddings_forward, EmbeddingsForward, "")                                              \
  X(embeddings_backward, EmbeddingsBackward, "")                                            \
  X(residual_layernorm_forward, ResidualLayerNormForward, "")                               \
  X(residual_layernorm_backward, ResidualLayerNormBackward, "")                             \
  X(residual_add_forward, ResidualAddForward, "pre-LN; use model.norm post")                \
  X(residual_add_backward, ResidualAddBackward, "pre-LN; use model.norm post")              \
  X(standardization_loss, StandardizationLoss, "standardization loss; use model.norm post") \
  X(attention_forward, AttentionForward, "")                                                \
  X(attention_backward, AttentionBackward, "")                                              \
  X(gather_rows, GatherRows, "")                                                            \
  X(scatter_add_rows, ScatterAddRows, "")                                                   \
  X(classifier_loss, ClassifierLoss, "")                                                    \
  X(round_to_float8, RoundToFloat8, "FP8; use another model.precision")

// Operations on flat ranges; their tensors define the dtypes.
#define STRATA_FLAT_OPERATIONS(X)                                   \
  X(convert, Convert, "")                                           \
  X(l2_norm_squared, L2NormSquared, "")                             \
  X(clip_to_norm, ClipToNorm, "")                                   \
  STRATA_ELEMENTWISE_UPDATES(X)                                     \
  X(lamb_direction, LambDirection, "LAMB; use optimizer.name adam") \
  X(lamb_apply, LambApply, "LAMB; use optimizer.name adam")         \
  X(float8_update, Float8Update, "FP8; use another model.precision")

#define STRATA_OPERATIONS(X) STRATA_FLAT_OPERATIONS(X) STRATA_MATRIX_OPERATIONS(X)

// Several of the operations above at once. A backend may override them; Backend composes them.
#define STRATA_COMPOSED_OPERATIONS(X)    \
  X(lamb_directions, LambDirections, "") \
  X(lamb_applies, LambApplies, "")

namespace strata::device {

// Produces kAdamUpdate for adam_update, and so on.
#define STRATA_ENUMERATOR(function, Arguments, without) k##Arguments,
enum class Operation : uint8_t { STRATA_OPERATIONS(STRATA_ENUMERATOR) };
#undef STRATA_ENUMERATOR

struct OperationEntry {
  const char* name;
  const char* without;  // see the list above
};
#define STRATA_ENTRY(function, Arguments, without) {#function, without},
inline constexpr OperationEntry kOperations[] = {STRATA_OPERATIONS(STRATA_ENTRY)};
#undef STRATA_ENTRY

constexpr const OperationEntry& entry_of(Operation operation) {
  return kOperations[static_cast<size_t>(operation)];
}
constexpr bool is_optional(Operation operation) { return *entry_of(operation).without != '\0'; }

// Returns the operation that takes these arguments.
template <typename Arguments>
constexpr Operation operation_of();
#define STRATA_OPERATION_OF(function, Arguments, without) \
  template <>                                             \
  constexpr Operation operation_of<Arguments>() {         \
    return Operation::k##Arguments;                       \
  }
STRATA_OPERATIONS(STRATA_OPERATION_OF)
#undef STRATA_OPERATION_OF

}  // namespace strata::device
