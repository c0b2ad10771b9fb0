#include "bench/relay/gauges.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace weir {
namespace {

// Reads until the server closes; HTTP/1.0 has no other end.
Result<std::string> Get(const Endpoint& endpoint, const std::string& path) {
  const auto socket = ConnectTo(endpoint);
  if (!socket.ok()) return socket.status();
  const int fd = socket.value();
  const std::string request = "GET " + path + " HTTP/1.0\r\nHost: " + endpoint.host + "\r\n\r\n";
  std::string answer;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char bytes[16'384];
    for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, 0)) > 0;) answer.append(bytes, static_cast<size_t>(got));
  }
  close(fd);
  if (answer.find(" 200 ") > answer.find("\r\n"))
    return Status::Error("http://" + endpoint.host + ":" + std::to_string(endpoint.port) + path + " answered " +
                         (answer.empty() ? "nothing" : answer.substr(0, answer.find("\r\n"))));
  return answer;
}

}  // namespace

Result<std::vector<double>> ReadGauges(const Endpoint& endpoint, const std::vector<std::string>& names) {
  std::vector<double> values(names.size(), std::numeric_limits<double>::quiet_NaN());
  if (names.empty()) return values;
  const auto answer = Get(endpoint, "/metrics");
  if (!answer.ok()) return answer.status();
  for (size_t i = 0; i < names.size(); ++i)
    if (const size_t at = answer.value().find("\n" + names[i] + " "); at != std::string::npos)
      values[i] = std::strtod(answer.value().c_str() + at + names[i].size() + 2, nullptr);
  return values;
}

}  // namespace weir
