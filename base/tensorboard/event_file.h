// TensorBoard's event files: TFRecords (tensorflow/core/lib/io/record_writer.cc) of Event messages
// (tensorflow/core/util/event.proto), one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

// A point of a curve.
struct TensorBoardScalar {
  std::string tag;
  int64_t step = 0;
  double time_s = 0;  // since the epoch
  float value = 0;
};

// What a file begins with.
std::string tensorboard_header(double time_s);
// A session that begins with `step`: what files before it say of that and later steps counts no
// more.
std::string tensorboard_session(double time_s, int64_t step);
std::string tensorboard_record(const TensorBoardScalar& scalar);

}  // namespace strata
