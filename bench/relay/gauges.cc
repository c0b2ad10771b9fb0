#include "bench/relay/gauges.h"

#include <cstdlib>
#include <limits>

#include "config/wire/http/http_connection.h"

namespace weir {

Result<std::vector<double>> ReadGauges(const Endpoint& endpoint, const std::vector<std::string>& names) {
  std::vector<double> values(names.size(), std::numeric_limits<double>::quiet_NaN());
  if (names.empty()) return values;
  const ServerUrl url{.host = endpoint.host, .port = std::to_string(endpoint.port)};
  const HttpAnswer answer = CallHttp(url, {.path = "/metrics"});
  if (!answer.ok()) return Status::Error(answer.problem);
  if (answer.status != 200)
    return Status::Error(url.Origin() + "/metrics answers with the status " + std::to_string(answer.status));
  const std::string text = "\n" + answer.body;
  for (size_t i = 0; i < names.size(); ++i)
    if (const size_t at = text.find("\n" + names[i] + " "); at != std::string::npos)
      values[i] = std::strtod(text.c_str() + at + names[i].size() + 2, nullptr);
  return values;
}

}  // namespace weir
