#include "base/tensorboard/event_file.h"

#include <bit>

#include "base/files/crc32c.h"

namespace strata {
namespace {

void add_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

template <typename Bits>
void add_fixed(std::string& out, Bits bits) {
  for (size_t i = 0; i < sizeof(Bits); ++i) out += static_cast<char>(bits >> 8 * i);
}

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void add_tag(std::string& out, uint32_t field, WireType type) {
  add_varint(out, field << 3 | type);
}

void add_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  add_tag(out, field, kBytes);
  add_varint(out, bytes.size());
  out += bytes;
}

std::string event_at(double time_s) {
  std::string event;
  add_tag(event, 1, kFixed64);  // wall_time
  add_fixed(event, std::bit_cast<uint64_t>(time_s));
  return event;
}

std::string event_of(const TensorBoardScalar& scalar) {
  std::string value;
  add_bytes(value, 1, scalar.tag);  // Summary.Value.tag
  add_tag(value, 2, kFixed32);      // Summary.Value.simple_value
  add_fixed(value, std::bit_cast<uint32_t>(scalar.value));
  std::string summary;
  add_bytes(summary, 1, value);  // Summary.value
  std::string event = event_at(scalar.time_s);
  add_tag(event, 2, kVarint);  // step
  add_varint(event, static_cast<uint64_t>(scalar.step));
  add_bytes(event, 5, summary);
  return event;
}

std::string record(std::string_view event) {
  std::string length, out;
  add_fixed(length, static_cast<uint64_t>(event.size()));
  out += length;
  add_fixed(out, masked_crc32c(length));
  out += event;
  add_fixed(out, masked_crc32c(event));
  return out;
}

}  // namespace

std::string tensorboard_header(double time_s) {
  std::string event = event_at(time_s);
  add_bytes(event, 3, "brain.Event:2");  // file_version
  return record(event);
}

std::string tensorboard_session(double time_s, int64_t step) {
  std::string event = event_at(time_s), session;
  add_tag(event, 2, kVarint);  // step
  add_varint(event, static_cast<uint64_t>(step));
  add_tag(session, 1, kVarint);  // SessionLog.status
  add_varint(session, 1);        // START
  add_bytes(event, 7, session);  // session_log
  return record(event);
}

std::string tensorboard_record(const TensorBoardScalar& scalar) { return record(event_of(scalar)); }

}  // namespace strata
