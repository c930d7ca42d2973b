#include "comm/mpi/mpi_messages.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/threads/start_thread.h"

namespace strata::comm {
namespace {

constexpr int kTag = 1;

class MpiMessages final : public Messages {
 public:
  MpiMessages(MPI_Comm communicator, std::shared_ptr<StallWatch> stall,
              std::shared_ptr<Traffic> traffic)
      : communicator_(communicator), stall_(std::move(stall)), traffic_(std::move(traffic)) {
    constexpr size_t kMany = 256;
    requests_.reserve(kMany);
    free_.reserve(kMany);
    thread_ = start_thread("cannot start a thread that sends messages between ranks",
                           [this] { progress_loop(); });
  }
  ~MpiMessages() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
    // MPI_Comm_free is collective, and after an error the other ranks may not take part.
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&communicator_);
  }

  Ticket send(const void* data, size_t bytes, int to) override {
    MPI_Request request;
    MPI_Isend(data, count_of(bytes), MPI_BYTE, to, kTag, communicator_, &request);
    traffic_->add_message(bytes);
    return begun({request, "a send"});
  }
  Ticket receive(void* data, size_t bytes, int from) override {
    MPI_Request request;
    MPI_Irecv(data, count_of(bytes), MPI_BYTE, from, kTag, communicator_, &request);
    return begun({request, "a receive"});
  }
  void wait(Ticket ticket) override {
    Begun waited;
    {
      const std::lock_guard lock(mutex_);
      waited = requests_[ticket];
    }
    wait_for(waited.request, waited.operation, *stall_);
    const std::lock_guard lock(mutex_);
    free_.push_back(ticket);
    --under_way_;
  }

 private:
  struct Begun {
    MPI_Request request;
    const char* operation;
  };

  static int count_of(size_t bytes) {
    if (bytes > std::numeric_limits<int>::max()) {
      fail("a message has {} bytes, but MPI counts at most {}; use a smaller batch.micro_batch",
           bytes, std::numeric_limits<int>::max());
    }
    return static_cast<int>(bytes);
  }

  Ticket begun(const Begun& request) {
    Ticket ticket = 0;
    {
      const std::lock_guard lock(mutex_);
      if (free_.empty()) {
        ticket = requests_.size();
        requests_.push_back(request);
      } else {
        ticket = free_.back();
        free_.pop_back();
        requests_[ticket] = request;
      }
      ++under_way_;
    }
    changed_.notify_all();
    return ticket;
  }

  // MPI moves long messages only while a thread of each rank is inside MPI.
  void progress_loop() {
    constexpr std::chrono::microseconds kPause(100);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || under_way_ > 0; });
      if (stop_) return;
      lock.unlock();
      int arrived = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kTag, communicator_, &arrived, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(kPause);
      lock.lock();
    }
  }

  MPI_Comm communicator_;
  std::shared_ptr<StallWatch> stall_;
  std::shared_ptr<Traffic> traffic_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Begun> requests_;  // indexed by ticket
  std::vector<Ticket> free_;
  int under_way_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Messages> make_mpi_messages(MPI_Comm communicator,
                                            std::shared_ptr<StallWatch> stall,
                                            std::shared_ptr<Traffic> traffic) {
  return std::make_unique<MpiMessages>(communicator, std::move(stall), std::move(traffic));
}

}  // namespace strata::comm
