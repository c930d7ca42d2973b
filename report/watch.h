// `strata report --watch`: the page of runs that go on, for a browser on the same machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "report/connections.h"

namespace strata::report {

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6, to listen on
  uint16_t port = 0;                  // 0: one that is free
  ConnectionLimits limits;
};

// Answers GET and HEAD of "/" with a page, and nothing else: 404 for other places, 405 for other
// methods, 400 or 421 where the Host header is missing or names another host (so that no page of
// another site can read this one). Reads nothing but the request, writes nothing. Slow clients do
// not keep others out: see ConnectionLimits.
class ReportServer {
 public:
  // `tag`: changes whenever the page would; the browser is told 304 as long as it does not.
  // `page`: called where the tag is new, by one thread at a time. What either throws is 503, with
  // its message. Throws Error where the address or port cannot be had.
  ReportServer(const ServerOptions& options, std::function<std::string()> tag,
               std::function<std::string()> page);
  ~ReportServer();  // waits for answers that are under way
  ReportServer(const ReportServer&) = delete;
  ReportServer& operator=(const ReportServer&) = delete;

  uint16_t port() const;
  std::string url() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::report
