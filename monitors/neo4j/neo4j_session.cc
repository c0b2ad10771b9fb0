#include "monitors/neo4j/neo4j_session.h"

#include <openssl/evp.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "config/text/json_string.h"
#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/text/url.h"

namespace weir {
namespace {

constexpr uint64_t kMostAnswerBytes = 64 << 20;
constexpr std::string_view kCaFile = "?ca=";

std::string Base64(const std::string& text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(size));
  return encoded;
}

std::string BodyOf(const std::vector<Neo4jStatement>& statements) {
  std::string body = "{\"statements\":[";
  for (const Neo4jStatement& statement : statements) {
    body += body.back() == '[' ? "{\"statement\":" : ",{\"statement\":";
    AppendJsonString(statement.cypher, &body);
    body += ",\"parameters\":" + statement.parameters + "}";
  }
  return body + "]}";
}

// Returns the first error in the body, or "" if there is none.
std::string ErrorIn(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array errors;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["errors"].get(errors) != simdjson::SUCCESS)
    return "the answer is not from Neo4j";
  for (const simdjson::dom::element error : errors) {
    std::string_view code;
    std::string_view message;
    if (error["code"].get(code) != simdjson::SUCCESS || error["message"].get(message) != simdjson::SUCCESS)
      return "an error without code or message";
    return Printable(std::string(code)) + ": " + Printable(std::string(message.substr(0, message.find('\n'))));
  }
  return "";
}

}  // namespace

Result<Neo4jAddress> ParseNeo4jUrl(const std::string& url) {
  const Status wrong =
      Status::Error("this is not an address of Neo4j; expected http://user:password@host:7474/database");
  if (std::ranges::any_of(url, [](unsigned char c) { return c <= ' ' || c == 0x7f; })) return wrong;
  Neo4jAddress address;
  std::string_view rest = url;
  const size_t scheme = rest.find("://");
  if (scheme == rest.npos || (rest.substr(0, scheme) != "http" && rest.substr(0, scheme) != "https")) return wrong;
  address.tls = scheme == 5;
  address.port = address.tls ? 7473 : 7474;
  rest.remove_prefix(scheme + 3);
  if (const size_t query = rest.find(kCaFile); query != rest.npos) {
    const auto file = DecodePercent(rest.substr(query + kCaFile.size()));
    if (!file || file->empty() || !address.tls) return wrong;
    address.ca_file = *file;
    rest = rest.substr(0, query);
  }
  if (const size_t slash = rest.find('/'); slash != rest.npos) {
    if (slash + 1 < rest.size()) address.database = rest.substr(slash + 1);
    if (address.database.find_first_of("/?#%") != std::string::npos) return wrong;
    rest = rest.substr(0, slash);
  }
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    const std::string_view who = rest.substr(0, at);
    const size_t colon = std::min(who.find(':'), who.size());
    const auto user = DecodePercent(who.substr(0, colon));
    const auto password = DecodePercent(who.substr(std::min(colon + 1, who.size())));
    if (!user || !password) return wrong;
    address.user = *user;
    address.password = *password;
    rest.remove_prefix(at + 1);
  }
  const size_t colon = rest.rfind(':');
  if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
    const Result<int64_t> port = ParseInteger(std::string(rest.substr(colon + 1)), {.min = 1, .max = 65535});
    if (!port.ok()) return wrong;
    address.port = static_cast<uint16_t>(port.value());
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty() || rest.find_first_of("?#%[]") != rest.npos) return wrong;
  address.host = rest;
  return address;
}

Neo4jSession::Neo4jSession(Neo4jAddress address)
    : address_(std::move(address)),
      connection_({.tls = address_.tls, .host = address_.host, .port = std::to_string(address_.port)}) {}

Result<std::string> Neo4jSession::Commit(const std::vector<Neo4jStatement>& statements, Duration patience) {
  HttpCall call{.method = "POST",
                .path = "/db/" + address_.database + "/tx/commit",
                .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
                .body = BodyOf(statements),
                .timeout = std::chrono::ceil<std::chrono::milliseconds>(patience),
                .max_answer_bytes = kMostAnswerBytes,
                .ca_file = address_.ca_file};
  if (!address_.user.empty())
    call.headers.emplace_back("Authorization", "Basic " + Base64(address_.user + ":" + address_.password));
  HttpAnswer answer = connection_.Ask(call);
  if (!answer.ok()) return Status::Error("Neo4j: " + answer.problem);
  std::string error = ErrorIn(answer.body);
  if (answer.status / 100 != 2)
    error = "HTTP status " + std::to_string(answer.status) + (error.empty() ? "" : ", " + error);
  if (error.empty()) return std::move(answer.body);
  return Status::Error("Neo4j at " + UrlHost(address_.host) + ":" + std::to_string(address_.port) + ": " + error);
}

}  // namespace weir
