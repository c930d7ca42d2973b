// Base of backends whose operations are functions of a context.
#pragma once

#include "device/backend.h"

namespace strata::device {

// `Operations` has a static function for every operation that the backend supports, with the
// operation's name. The function takes the result of on(stream) and the operation's arguments.
template <typename Operations, typename Context, typename Base = Backend>
class DispatchingBackend : public Base {
 public:
#define STRATA_CALL(function) Operations::function(on(s, #function), op)
#define STRATA_DISPATCH(function, Arguments, without)    \
  void function(Stream s, const Arguments& op) final {   \
    if constexpr (requires { STRATA_CALL(function); }) { \
      STRATA_CALL(function);                             \
    } else {                                             \
      Base::function(s, op);                             \
    }                                                    \
  }
  STRATA_OPERATIONS(STRATA_DISPATCH)
  STRATA_COMPOSED_OPERATIONS(STRATA_DISPATCH)
#undef STRATA_DISPATCH
#undef STRATA_CALL

  bool supports(Operation operation, DType dtype) const override {
    if (dtype != this->compute_dtype() && dtype != this->master_dtype()) return false;
    switch (operation) {
#define STRATA_HAS(function, Arguments, without) \
  case Operation::k##Arguments:                  \
    return requires(Context context, const Arguments& op) { Operations::function(context, op); };
      STRATA_OPERATIONS(STRATA_HAS)
#undef STRATA_HAS
    }
    __builtin_unreachable();
  }

 protected:
  // Returns the context of an operation on `stream`, valid while the operation is issued.
  virtual Context on(Stream stream, const char* operation) = 0;
};

}  // namespace strata::device
