#include "device/graph_cache.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/host_backend.h"

namespace strata::device {
namespace {

class RecordingsTest : public testing::Test {
 protected:
  // Adds what memory holds to a sum, on the reduce stream.
  void issue() {
    ++issued_;
    backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute));
    backend_.enqueue(Stream::kReduce, [this] { sum_ += *memory_.as<int>(); });
    backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
  }
  void run(Recordings& recordings, int key, int value) {
    backend_.store(Stream::kCompute, memory_.data(), &value, sizeof value);
    recordings.run({key, 7}, [this] { issue(); });
  }

  testing_support::HostBackend host_;
  testing_support::DeferredBackend backend_{host_, 1};
  Buffer memory_{backend_, sizeof(int)};
  int sum_ = 0, issued_ = 0;
};

TEST_F(RecordingsTest, WorkIsIssuedTwiceAndThenReplayedWithWhatMemoryHolds) {
  Recordings recordings(backend_);
  for (int i = 1; i <= 5; ++i) run(recordings, 3, i);
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(issued_, 2);
  EXPECT_EQ(recordings.replayed(), 3);
}

TEST_F(RecordingsTest, OfEveryKeyItsOwnWork) {
  Recordings recordings(backend_);
  for (int i = 0; i < 4; ++i) {
    run(recordings, 1, 1);
    run(recordings, 2, 100);
  }
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 4 + 400);
  EXPECT_EQ(issued_, 4);
}

TEST_F(RecordingsTest, NoMoreKeysAreKeptThanAllowed) {
  Recordings recordings(backend_, 2);
  for (int i = 0; i < 3; ++i) {
    for (int key = 0; key < 4; ++key) run(recordings, key, 1);
  }
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 12);
  EXPECT_EQ(recordings.replayed(), 2);
  EXPECT_EQ(issued_, 10);
}

TEST_F(RecordingsTest, WorkMayBeKeptBeforeItIsAskedFor) {
  Recordings recordings(backend_, 2);
  const auto keep = [&](int key) { return recordings.keep({key, 7}, [this] { issue(); }); };
  EXPECT_TRUE(keep(1));
  EXPECT_TRUE(keep(1)) << "it is there";
  run(recordings, 2, 5);
  EXPECT_TRUE(keep(2)) << "it has run, and is known";
  EXPECT_FALSE(keep(3)) << "a third key";
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 5) << "what is kept does not run";
  EXPECT_EQ(issued_, 3);
  run(recordings, 1, 30);
  run(recordings, 2, 400);
  run(recordings, 1, 1000);
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 1435);
  EXPECT_EQ(issued_, 3);
  EXPECT_EQ(recordings.replayed(), 3);
}

TEST_F(RecordingsTest, WhatFailsIsNotKept) {
  Recordings recordings(backend_);
  run(recordings, 3, 1);
  EXPECT_THROW(recordings.run({3, 7}, [] { fail("no further"); }), Error);
  run(recordings, 3, 2);
  run(recordings, 3, 3);
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 6);
}

// What CUDA refuses to capture, this device refuses, too: tests that replay would not pass on it.
TEST_F(RecordingsTest, WorkThatCannotBePartOfAGraphIsRefused) {
  const auto error_of = [&](const std::function<void()>& issue) -> std::string {
    try {
      backend_.keep(issue);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Event before = backend_.record(Stream::kReduce);
  const auto fork = [&] { backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute)); };
  const auto work = [this](Stream stream) { backend_.enqueue(stream, [] {}); };
  EXPECT_EQ(error_of([&] { backend_.wait(Stream::kCompute, before); }),
            "kept work waits for a point from before");
  EXPECT_EQ(error_of([&] { backend_.synchronize(Stream::kCompute); }),
            "the host waits for work that is only kept");
  EXPECT_EQ(error_of([&] { work(Stream::kReduce); }),
            "a stream that waits for no kept work is given some");
  EXPECT_EQ(error_of([&] {
              fork();
              work(Stream::kReduce);
            }),
            "kept work of a stream is never waited for");
  Event kept = 0;
  EXPECT_EQ(error_of([&] {
              fork();
              work(Stream::kReduce);
              kept = backend_.record(Stream::kReduce);
              backend_.wait(Stream::kCompute, kept);
            }),
            "");
  EXPECT_THROW(backend_.wait(Stream::kCopy, kept), Error);
}

TEST_F(RecordingsTest, ADeviceThatKeepsNothingIsAnError) {
  Recordings recordings(host_);
  recordings.run({1}, [] {});
  EXPECT_THROW(recordings.run({1}, [] {}), Error);
}

}  // namespace
}  // namespace strata::device
