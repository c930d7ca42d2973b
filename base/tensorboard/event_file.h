// TensorBoard's event files: a sequence of TFRecords (tensorflow/core/lib/io/record_writer.cc) with
// Event messages (tensorflow/core/util/event.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

// A point of a curve.
struct TensorBoardScalar {
  std::string tag;
  int64_t step = 0;
  double time_s = 0;  // seconds since the epoch
  float value = 0;
};

// Returns the first record of a file.
std::string tensorboard_header(double time_s);
// Returns the start of a session at `step`. TensorBoard then ignores earlier files' events of that
// and later steps.
std::string tensorboard_session(double time_s, int64_t step);
std::string tensorboard_record(const TensorBoardScalar& scalar);

}  // namespace strata
