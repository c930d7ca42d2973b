#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/timing.h"
#include "comm/emulated/slow_messages.h"

namespace strata::comm {
namespace {

constexpr size_t kLarge = 1 << 18;

std::vector<int> content(int from) {
  std::vector<int> values(kLarge / sizeof(int));
  std::iota(values.begin(), values.end(), 1000 * from);
  return values;
}

// Each rank sends to the next rank and receives from the previous one.
class SlowMessagesOverRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (world_->size() == 1) GTEST_SKIP() << "one rank has nobody to send to";
  }
  std::unique_ptr<Communicator> slow(const Link& link) {
    return make_slow_link(world_->duplicate(), link);
  }

  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
  const int next_ = (world_->rank() + 1) % world_->size();
  const int before_ = (world_->rank() + world_->size() - 1) % world_->size();
  std::vector<int> sent_ = content(world_->rank()), received_ = std::vector<int>(sent_.size());
};

TEST_F(SlowMessagesOverRanks, ArriveWholeAndInOrderNoEarlierThanStated) {
  const Link link{.bytes_per_second = 1e7, .latency_seconds = 2e-3};
  const auto messages = slow(link)->make_messages();
  const int64_t counted = world_->traffic()->message_bytes();
  const auto begin = Clock::now();
  world_->barrier();
  int small = 10 + world_->rank(), other = 0;
  const auto first = messages->send(sent_.data(), kLarge, next_);
  const auto second = messages->send(&small, sizeof small, next_);
  const auto large_there = messages->receive(received_.data(), kLarge, before_);
  const auto small_there = messages->receive(&other, sizeof other, before_);
  messages->wait(small_there);
  EXPECT_GE(seconds_since(begin), message_seconds(link, kLarge + sizeof small));
  messages->wait(large_there);
  messages->wait(first);
  messages->wait(second);
  EXPECT_EQ(received_, content(before_));
  EXPECT_EQ(other, 10 + before_);
  EXPECT_EQ(world_->traffic()->message_bytes() - counted,
            static_cast<int64_t>(kLarge + sizeof small))
      << "what says that they are there has no bytes";
}

// A message sent later without the link arrives earlier, which shows that send does not block.
TEST_F(SlowMessagesOverRanks, TravelWhileTheirRanksDoOtherWork) {
  const auto messages = slow({.bytes_per_second = 1e6, .latency_seconds = 0.1})->make_messages();
  const auto at_once = world_->make_messages();
  std::vector<std::string> arrived;
  std::mutex mutex;
  const auto add = [&](const char* what) {
    const std::lock_guard lock(mutex);
    arrived.push_back(what);
  };
  const auto large_there = messages->receive(received_.data(), kLarge, before_);
  std::thread waiting([&] {
    messages->wait(large_there);
    add("over the link");
  });
  int other = 0;
  const auto large = messages->send(sent_.data(), kLarge, next_);
  const auto small = at_once->send(&next_, sizeof next_, next_);
  at_once->wait(at_once->receive(&other, sizeof other, before_));
  add("at once");
  waiting.join();
  messages->wait(large);
  at_once->wait(small);
  EXPECT_EQ(arrived, (std::vector<std::string>{"at once", "over the link"}));
  EXPECT_EQ(received_, content(before_));
  EXPECT_EQ(other, world_->rank());
}

// A rank's collectives and messages share its bandwidth.
TEST_F(SlowMessagesOverRanks, ShareTheLinkWithCollectives) {
  const Link link{.bytes_per_second = 1e7};
  const auto slowed = slow(link);
  const auto messages = slowed->make_messages();
  const auto duplicate = slowed->duplicate();
  std::vector<float> values(kLarge / sizeof(float), 1.0f);
  world_->barrier();
  const auto begin = Clock::now();
  const auto there = messages->receive(received_.data(), kLarge, before_);
  const auto large = messages->send(sent_.data(), kLarge, next_);
  duplicate->all_reduce_sum(values.data(), std::ssize(values), device::DType::kF32);
  messages->wait(large);
  EXPECT_GE(seconds_since(begin),
            message_seconds(link, kLarge) + all_reduce_seconds(link, world_->size(), kLarge));
  messages->wait(there);
  EXPECT_EQ(values.back(), static_cast<float>(world_->size()));
}

}  // namespace
}  // namespace strata::comm
