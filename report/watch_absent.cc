// Replaces watch.cc if the server is left out (STRATA_REPORT_SERVER=OFF).
#include "base/error.h"
#include "report/watch.h"

namespace strata::report {

struct ReportServer::State {};

ReportServer::ReportServer(const ServerOptions&, std::function<std::string()>,
                           std::function<std::string()>) {
  fail(
      "--watch: this strata was built without its server, as the static build is; use one of "
      "the packages, or write the page repeatedly with: strata report DIR");
}

ReportServer::~ReportServer() = default;
uint16_t ReportServer::port() const { return 0; }
std::string ReportServer::url() const { return {}; }

}  // namespace strata::report
