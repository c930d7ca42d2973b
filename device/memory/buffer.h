// Buffers in a backend's memory, and the error if memory is short. They are not part of
// device/backend.h because nvcc reads that file and cannot compile {fmt}.
#pragma once

#include <cstddef>
#include <utility>

#include "base/error.h"
#include "device/backend.h"

namespace strata::device {

// Thrown by Backend::allocate() and Backend::capture().
class OutOfDeviceMemory : public Error {
 public:
  using Error::Error;
};

// Device memory of `backend`, released in the destructor; movable.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Backend& backend, size_t bytes)
      : backend_(&backend), data_(backend.allocate(bytes)), bytes_(bytes) {
    backend.buffer_bytes_ += static_cast<int64_t>(bytes);
  }
  ~Buffer() {
    if (!data_) return;
    backend_->buffer_bytes_ -= static_cast<int64_t>(bytes_);
    backend_->release(data_);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void swap(Buffer& other) {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Host memory for copies to and from `backend`'s device, released in the destructor; movable.
class HostBuffer {
 public:
  HostBuffer() = default;  // empty
  HostBuffer(Backend& backend, size_t bytes)
      : backend_(&backend), data_(backend.allocate_host(bytes)), bytes_(bytes) {}
  ~HostBuffer() {
    if (data_) backend_->release_host(data_);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : backend_(other.backend_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace strata::device
