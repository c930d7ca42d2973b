// Values that every thread has of its own.
#pragma once

#include <pthread.h>

#include <memory>
#include <new>

namespace strata {

// As a thread_local T does, but throws std::bad_alloc where a thread gets no memory for its value:
// the C library then ends the process, as it cannot keep the destructor's call. Values are
// destroyed when their threads end; objects of this class live until the process does.
template <typename T>
class PerThread {
 public:
  PerThread() {
    if (::pthread_key_create(&key_, [](void* value) { delete static_cast<T*>(value); }) != 0) {
      throw std::bad_alloc();
    }
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  // The calling thread's, made from `arguments` by its first call.
  template <typename... Arguments>
  T& get(const Arguments&... arguments) {
    if (void* value = ::pthread_getspecific(key_)) return *static_cast<T*>(value);
    auto made = std::make_unique<T>(arguments...);
    if (::pthread_setspecific(key_, made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }

 private:
  pthread_key_t key_;
};

}  // namespace strata
