// Values that each thread has a copy of.
#pragma once

#include <pthread.h>

#include <memory>
#include <new>

namespace strata {

// Like a thread_local T, but throws std::bad_alloc if a thread has no memory for its value. With
// thread_local the C library would end the process, because it cannot register the destructor.
// Values are destroyed when their threads end; objects of this class must live until the process
// ends.
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

  // Returns the calling thread's value. The thread's first call makes it from `arguments`.
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
