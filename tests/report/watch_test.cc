#include "report/watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/support/error_of.h"

namespace strata::report {
namespace {

constexpr char kHost[] = "\r\nHost: localhost\r\n\r\n";

// Returns a socket whose reads wait for at most so many seconds.
int connect_to(const ReportServer& server, int seconds = 20) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{.tv_sec = seconds};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

class Watch : public ::testing::Test {
 protected:
  // Returns the server's answer to these bytes, until it closes or half a second passes.
  std::string ask(const std::string& request) {
    const int socket = connect_to(server_, 5);
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char bytes[4096];
    // One read returns the status and the headers; the body of these answers is short.
    while (answer.find("\r\n\r\n") == answer.npos) {
      const ssize_t read = ::recv(socket, bytes, sizeof bytes, 0);
      if (read <= 0) break;
      answer.append(bytes, static_cast<size_t>(read));
    }
    if (answer.find("Content-Length: 0") == answer.npos && answer.ends_with("\r\n\r\n") &&
        !request.starts_with("HEAD")) {
      const ssize_t read = ::recv(socket, bytes, sizeof bytes, 0);
      if (read > 0) answer.append(bytes, static_cast<size_t>(read));
    }
    ::close(socket);
    return answer;
  }
  int status(const std::string& request) {
    const std::string answer = ask(request);
    return answer.size() < 12 ? 0 : std::atoi(answer.c_str() + 9);
  }

  std::atomic<int> made_ = 0;
  std::atomic<bool> fails_ = false;
  std::string tag_ = "one";
  ReportServer server_{{},
                       [this] { return tag_; },
                       [this] {
                         if (fails_) fail("the disk is gone");
                         ++made_;
                         return std::string("<p>page</p>");
                       }};
};

TEST_F(Watch, ServesOnePage) {
  const std::string answer = ask(std::string("GET / HTTP/1.1") + kHost);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_NE(answer.find("<p>page</p>"), answer.npos);
  EXPECT_NE(answer.find("Content-Type: text/html; charset=utf-8"), answer.npos);
  EXPECT_NE(answer.find("X-Content-Type-Options: nosniff"), answer.npos);
  EXPECT_NE(answer.find("frame-ancestors 'none'"), answer.npos);
  EXPECT_NE(answer.find("Cache-Control: no-store"), answer.npos);
  const std::string head = ask(std::string("HEAD / HTTP/1.1") + kHost);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_EQ(head.find("<p>"), head.npos);
}

TEST_F(Watch, MakesANewPageIfSomethingChanged) {
  const std::string get = std::string("GET / HTTP/1.1") + kHost;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status(get), 200);
  EXPECT_EQ(made_, 1);
  const std::string known = "GET / HTTP/1.1\r\nIf-None-Match: \"one\"" + std::string(kHost);
  EXPECT_EQ(status(known), 304);
  tag_ = "two";
  EXPECT_EQ(status(known), 200);
  EXPECT_EQ(made_, 2);
}

TEST_F(Watch, AcceptsOnlyRequestsToRead) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    EXPECT_EQ(status(std::string(method) + " / HTTP/1.1" + kHost), 405) << method;
  }
  // This body would never arrive.
  EXPECT_EQ(status("PUT / HTTP/1.1\r\nContent-Length: 99999999999" + std::string(kHost) + "abc"),
            405);
  EXPECT_EQ(made_, 0);
}

TEST_F(Watch, ServesNoOtherPlace) {
  for (const char* place : {"/x", "//", "/../../etc/passwd", "/%2e%2e/x", "http://other/"}) {
    EXPECT_EQ(status("GET " + std::string(place) + " HTTP/1.1" + kHost), 404) << place;
  }
}

// A page of another site whose name resolves to this machine must not read this page.
TEST_F(Watch, AnswersOnlyToItsOwnHostNames) {
  const auto of_host = [&](const std::string& host) {
    return status("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  for (const char* host : {"localhost", "127.0.0.1:80", "localhost:8080", "[::1]:1"}) {
    EXPECT_EQ(of_host(host), 200) << host;
  }
  for (const char* host :
       {"evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", "[", ""}) {
    EXPECT_GE(of_host(host), 400) << host;
    EXPECT_LT(of_host(host), 500) << host;
  }
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"), 400);
}

TEST_F(Watch, TooLongRequestsAreRefused) {
  EXPECT_EQ(status("GET /" + std::string(70'000, 'a') + " HTTP/1.1" + kHost), 414);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nX: " + std::string(70'000, 'a') + kHost), 431);
}

TEST_F(Watch, SaysWhyThereIsNoPage) {
  fails_ = true;
  const std::string answer = ask(std::string("GET / HTTP/1.1") + kHost);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("the disk is gone"), answer.npos);
  fails_ = false;
  EXPECT_EQ(status(std::string("GET / HTTP/1.1") + kHost), 200);
}

TEST_F(Watch, AnswersManyAtOnce) {
  std::vector<std::thread> readers;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        answered += status(std::string("GET / HTTP/1.1") + kHost) == 200 ? 1 : 0;
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(answered, 160);
  EXPECT_EQ(made_, 1);
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// A page of a whole round has 12 MB, and a reader may stop halfway.
TEST(WatchMemory, SlowReadersShareOnePage) {
  constexpr size_t kPage = size_t{32} << 20, kReaders = 16;
  const ReportServer server(
      {}, [] { return std::string("one"); }, [&] { return std::string(kPage, 'x'); });
  const size_t before = resident_bytes();
  std::vector<int> sockets;
  for (size_t i = 0; i < kReaders; ++i) {
    sockets.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 20};
    ::setsockopt(sockets.back(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ASSERT_EQ(::connect(sockets.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request = std::string("GET / HTTP/1.1") + kHost;
    ::send(sockets.back(), request.data(), request.size(), MSG_NOSIGNAL);
    char byte = 0;
    EXPECT_EQ(::recv(sockets.back(), &byte, 1, 0), 1) << "its answer has begun";
  }
  EXPECT_LT(resident_bytes() - before, kReaders * kPage / 2);
  for (const int socket : sockets) ::close(socket);
}

// Returns whether the bytes could be sent; the server may have closed the connection.
bool send_text(int socket, const std::string& text) {
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

size_t bytes_until_end(int socket) {
  std::vector<char> bytes(size_t{1} << 20);
  size_t all = 0;
  for (ssize_t read = 0; (read = ::recv(socket, bytes.data(), bytes.size(), 0)) > 0;) {
    all += static_cast<size_t>(read);
  }
  return all;
}

TEST_F(Watch, SlowClientsDoNotBlockOthers) {
  std::vector<int> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(connect_to(server_));
    send_text(slow.back(), "GET / HTTP/1.1\r\n");
  }
  for (int i = 0; i < 10; ++i) {
    for (const int socket : slow) send_text(socket, "X: y\r\n");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(status(std::string("GET / HTTP/1.1") + kHost), 200) << i;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << i;
  }
  // The server still waits for the last ones.
  EXPECT_TRUE(send_text(slow.back(), kHost + 2));
  char bytes[12] = "";
  EXPECT_EQ(::recv(slow.back(), bytes, sizeof bytes, MSG_WAITALL), 12);
  EXPECT_EQ(std::string(bytes, 12), "HTTP/1.1 200");
  for (const int socket : slow) ::close(socket);
}

// A server with short limits. Its page is large and takes `making` to make.
struct Impatient {
  static constexpr size_t kPage = size_t{32} << 20;
  std::chrono::milliseconds making{0};
  std::atomic<bool> begun = false;
  ReportServer server{{.limits = {.request_timeout = std::chrono::milliseconds(400),
                                  .answer_timeout = std::chrono::milliseconds(400)}},
                      [] { return std::string("one"); },
                      [this] {
                        begun = true;
                        std::this_thread::sleep_for(making);
                        return std::string(kPage, 'x');
                      }};
};

TEST(WatchLimits, ASlowRequestIsEnded) {
  Impatient impatient;
  const int socket = connect_to(impatient.server);
  EXPECT_TRUE(send_text(socket, "GET / HTTP/1.1\r\n"));
  const auto begin = std::chrono::steady_clock::now();
  while (send_text(socket, "X: y\r\n") &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  ::close(socket);
}

TEST(WatchLimits, AReaderThatStopsIsDisconnected) {
  Impatient impatient;
  const int socket = connect_to(impatient.server);
  EXPECT_TRUE(send_text(socket, std::string("GET / HTTP/1.1") + kHost));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_LT(bytes_until_end(socket), Impatient::kPage);
  ::close(socket);
}

TEST(WatchLimits, WaitingForThePageDoesNotCountAsTheClientsTime) {
  Impatient impatient{.making = std::chrono::milliseconds(1500)};
  const std::string request = "GET / HTTP/1.1\r\nConnection: close" + std::string(kHost);
  const int first = connect_to(impatient.server);
  EXPECT_TRUE(send_text(first, request));
  while (!impatient.begun) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const int second = connect_to(impatient.server);
  EXPECT_TRUE(send_text(second, request));
  std::thread other([&] { EXPECT_GT(bytes_until_end(second), Impatient::kPage); });
  EXPECT_GT(bytes_until_end(first), Impatient::kPage);
  other.join();
  ::close(first);
  ::close(second);
}

TEST_F(Watch, TwoCannotHaveOnePort) {
  const ServerOptions taken{.port = server_.port()};
  const auto text = [] { return std::string(); };
  const std::string error = testing_support::error_of([&] { ReportServer(taken, text, text); });
  EXPECT_NE(error.find("127.0.0.1 port " + std::to_string(server_.port())), error.npos) << error;
  EXPECT_NE(error.find("--port"), error.npos);
}

TEST_F(Watch, ListensOnlyOnAddresses) {
  const auto text = [] { return std::string(); };
  for (const char* address : {"localhost", "", "1.2.3", "::g"}) {
    EXPECT_THROW(ReportServer({.address = address}, text, text), Error) << address;
  }
  const ReportServer second({.address = "127.0.0.2"}, text, text);
  EXPECT_EQ(second.url(), "http://127.0.0.2:" + std::to_string(second.port()) + "/");
}

}  // namespace
}  // namespace strata::report
