#include "report/watch.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "report/connections.h"

namespace strata::report {

struct DestroyResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
// Reference counted: connections that send it keep it alive.
using Response = std::unique_ptr<MHD_Response, DestroyResponse>;

namespace {

// Connections that have been shut down count until the server has seen their ends.
constexpr unsigned kServedForEachAllowed = 4;
constexpr size_t kConnectionBytes = 32 << 10;

// An address to listen on.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool loopback = false;
};

Address parse_address(const ServerOptions& options) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, options.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(options.port);
    address.size = sizeof(sockaddr_in);
    address.loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  } else if (::inet_pton(AF_INET6, options.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(options.port);
    address.size = sizeof(sockaddr_in6);
    address.loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0;
  } else {
    fail("--listen {}: expected an IPv4 or IPv6 address, such as 127.0.0.1", options.address);
  }
  return address;
}

// Opens a listening socket here, so that errors can be explained.
int listen_on(const Address& address, const ServerOptions& options) {
  const int socket = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (socket >= 0) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket < 0 ||
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      ::listen(socket, 256) != 0) {
    const int error = errno;
    if (socket >= 0) ::close(socket);
    fail("cannot listen on {} port {}: {}; choose another with --listen and --port",
         options.address, options.port, std::strerror(error));
  }
  return socket;
}

uint16_t port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* const bytes =
      address.sa_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
          : &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  ::inet_ntop(address.sa_family, bytes, text, sizeof text);
  return text;
}

// Returns the host of a Host header, without its port and brackets.
std::string host_in(std::string_view header) {
  if (header.starts_with('[')) {
    const size_t end = header.find(']');
    return std::string(header.substr(1, end == header.npos ? end : end - 1));
  }
  return std::string(header.substr(0, header.find(':')));
}

int hosts_in(MHD_Connection* connection) {
  int count = 0;
  const auto take = [](void* counted, MHD_ValueKind, const char* key, const char*) {
    if (::strcasecmp(key, "Host") == 0) ++*static_cast<int*>(counted);
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_HEADER_KIND, take, &count);
  return count;
}

Response make_response(const std::string& text, const char* type, const std::string& etag = "") {
  Response response(MHD_create_response_from_buffer(text.size(), const_cast<char*>(text.data()),
                                                    MHD_RESPMEM_MUST_COPY));
  if (!response) throw std::bad_alloc();
  const auto header = [&](const char* name, const std::string& value) {
    MHD_add_response_header(response.get(), name, value.c_str());
  };
  header("Content-Type", type);
  header("Cache-Control", "no-store");
  header("X-Content-Type-Options", "nosniff");
  header("Referrer-Policy", "no-referrer");
  header("Cross-Origin-Resource-Policy", "same-origin");
  header("Content-Security-Policy", "frame-ancestors 'none'");
  if (!etag.empty()) header("ETag", etag);
  return response;
}

bool is_address(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

}  // namespace

struct ReportServer::State {
  ServerOptions options;
  bool loopback = true;
  uint16_t port = 0;
  std::function<std::string()> tag, page;
  std::optional<Connections> connections;
  MHD_Daemon* daemon = nullptr;
  // Only used by the thread that answers.
  std::string made_tag;
  Response made_page;  // shared by all readers, however slow

  // Protects from another site whose name resolves to this server: the browser would send that
  // name.
  bool serves(const std::string& host) const {
    if (host == "localhost" || host == options.address) return true;
    if (!loopback) {
      char name[256] = "";
      ::gethostname(name, sizeof name - 1);
      return is_address(host) || host == name;
    }
    return host == "127.0.0.1" || host == "::1";
  }

  static MHD_Result refuse(MHD_Connection* connection, unsigned status, const std::string& why) {
    const Response response = make_response(why + "\n", "text/plain; charset=utf-8");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
      MHD_add_response_header(response.get(), "Allow", "GET, HEAD");
    }
    return MHD_queue_response(connection, status, response.get());
  }

  MHD_Result answer(MHD_Connection* connection, std::string_view url, std::string_view method) {
    const auto header = [&](const char* name) -> std::optional<std::string> {
      const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
    const auto host = header("Host");
    if (!host || hosts_in(connection) != 1) {
      return refuse(connection, MHD_HTTP_BAD_REQUEST, "The request names no host, or several.");
    }
    if (!serves(host_in(*host))) {
      return refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST, "The request is for another host.");
    }
    if (method != "GET" && method != "HEAD") {
      return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "This server is read-only.");
    }
    if (url != "/") return refuse(connection, MHD_HTTP_NOT_FOUND, "There is one page: /");
    try {
      const Connections::PausedTimeouts paused(*connections);
      const std::string now = '"' + tag() + '"';
      if (header("If-None-Match") == now) {
        const Response same = make_response("", "text/html", now);
        return MHD_queue_response(connection, MHD_HTTP_NOT_MODIFIED, same.get());
      }
      if (!made_page || made_tag != now) {
        made_page = make_response(page(), "text/html; charset=utf-8", now);
        made_tag = now;
      }
      return MHD_queue_response(connection, MHD_HTTP_OK, made_page.get());
    } catch (const std::exception& error) {
      return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, message_of(error));
    }
  }

  static Connections::Connection* limited(MHD_Connection* connection) {
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == nullptr ? nullptr : static_cast<Connections::Connection*>(info->socket_context);
  }

  static void connected(void* self, MHD_Connection* connection, void** context,
                        MHD_ConnectionNotificationCode code) {
    Connections& connections = *static_cast<State*>(self)->connections;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      if (*context != nullptr) connections.remove(static_cast<Connections::Connection*>(*context));
      return;
    }
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    const int socket = info->connect_fd;  // since version 1.0 the next call overwrites `info`
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == nullptr) return;
    try {
      *context = connections.add(socket, text_of(*info->client_addr));
    } catch (const std::exception&) {  // no memory to enforce the limits
      ::shutdown(socket, SHUT_RDWR);
    }
  }

  static void completed(void* self, MHD_Connection* connection, void**,
                        MHD_RequestTerminationCode) {
    if (auto* one = limited(connection)) static_cast<State*>(self)->connections->end_answer(one);
  }

  // Called once with a request's headers, then with each piece of its body, then without one.
  static MHD_Result handle(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char*, const char*, size_t* body_bytes,
                           void** request) {
    static int seen;
    if (*request == nullptr) {
      if (auto* one = limited(connection)) {
        static_cast<State*>(self)->connections->begin_answer(one);
      }
    }
    // Refuses requests with a body before it arrives.
    const bool reads = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
    if (*request == nullptr && reads) {
      *request = &seen;
      return MHD_YES;
    }
    if (*body_bytes > 0) {
      *body_bytes = 0;  // the body is ignored
      return MHD_YES;
    }
    try {
      return static_cast<State*>(self)->answer(connection, url, method);
    } catch (const std::exception&) {  // no memory for an answer
      return MHD_NO;
    }
  }
};

ReportServer::ReportServer(const ServerOptions& options, std::function<std::string()> tag,
                           std::function<std::string()> page)
    : state_(std::make_unique<State>()) {
  const Address address = parse_address(options);
  state_->options = options;
  state_->loopback = address.loopback;
  state_->tag = std::move(tag);
  state_->page = std::move(page);
  const ConnectionLimits& limits = options.limits;
  state_->connections.emplace(limits);
  const int socket = listen_on(address, options);
  state_->port = port_of(socket);
  const auto most = static_cast<unsigned>(limits.most_connections) * kServedForEachAllowed;
  const auto seconds =
      static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(
                                std::max(limits.request_timeout, limits.answer_timeout))
                                .count());
  state_->daemon = MHD_start_daemon(
      MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr, &State::handle,
      state_.get(), MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, most,
      MHD_OPTION_CONNECTION_TIMEOUT, seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, &State::connected,
      state_.get(), MHD_OPTION_NOTIFY_COMPLETED, &State::completed, state_.get(), MHD_OPTION_END);
  if (state_->daemon == nullptr) {
    ::close(socket);
    fail("cannot serve pages on {} port {}: no thread or memory for it", options.address,
         options.port);
  }
}

ReportServer::~ReportServer() {
  if (state_->daemon != nullptr) MHD_stop_daemon(state_->daemon);
}

uint16_t ReportServer::port() const { return state_->port; }

std::string ReportServer::url() const {
  const bool v6 = state_->options.address.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", v6 ? "[" : "", state_->options.address, v6 ? "]" : "",
                     state_->port);
}

}  // namespace strata::report
