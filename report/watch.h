// `strata report --watch`: serves the page of running runs to a browser on the same machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "report/connection_limits.h"

namespace strata::report {

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6 address to listen on
  uint16_t port = 0;                  // 0: a free one
  ConnectionLimits limits;
};

// Answers GET and HEAD of "/" with a page. All else gets an error: 404 for other paths, 405 for
// other methods, 400 or 421 if the Host header is missing or names another host (so that no page of
// another site can read this one). Reads only the request and writes nothing. Slow clients do not
// block others: see ConnectionLimits.
class ReportServer {
 public:
  // `tag` changes whenever the page does; while it does not, the browser gets 304. `page` is called
  // for a new tag, by one thread at a time. An exception of either becomes a 503 with its message.
  // Throws Error if the address or port is not available.
  ReportServer(const ServerOptions& options, std::function<std::string()> tag,
               std::function<std::string()> page);
  ~ReportServer();  // waits for answers in progress
  ReportServer(const ReportServer&) = delete;
  ReportServer& operator=(const ReportServer&) = delete;

  uint16_t port() const;
  std::string url() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::report
