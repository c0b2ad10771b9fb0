#include "import/sync/remote_relay.h"

#include <simdjson.h>

#include <optional>
#include <utility>

#include "config/text/readable.h"
#include "config/text/url.h"
#include "config/wire/http/http_connection.h"
#include "relay/process/version.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kLongestOpen{20};
// A relay that is busy may read no message for a while.
constexpr std::chrono::seconds kLongestSend{60};

// Reads the relay's NIP-11 document. A relay without one says nothing.
RemoteRelay::Information ReadInformation(const ServerUrl& at, const std::string& ca_file, const std::stop_token& stop) {
  RemoteRelay::Information information;
  const HttpAnswer answer = CallHttp(at, {.path = at.path.empty() ? "/" : "",
                                          .headers = {{"Accept", "application/nostr+json"}},
                                          .timeout = kLongestOpen,
                                          .stop = stop,
                                          .max_answer_bytes = 1 << 20,
                                          .ca_file = ca_file});
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (!answer.ok() || parser.parse(answer.body).get(document) != simdjson::SUCCESS) return information;
  uint64_t number = 0;
  if (document["limitation"]["max_message_length"].get(number) == simdjson::SUCCESS && number > 0)
    information.most_message_bytes = number;
  if (document["limitation"]["max_sync_events"].get(number) == simdjson::SUCCESS && number > 0)
    information.most_sync_events = number;
  simdjson::dom::array nips;
  if (document["supported_nips"].get(nips) != simdjson::SUCCESS) return information;
  information.lists_nips = true;
  for (const simdjson::dom::element nip : nips)
    if (nip.get(number) == simdjson::SUCCESS && number == 77) information.knows_negentropy = true;
  return information;
}

// Reads the URL with the scheme of HTTP in place of that of the WebSocket.
Result<ServerUrl> ParseRelayUrl(const std::string& url) {
  if (!url.starts_with("ws://") && !url.starts_with("wss://"))
    return Status::Error(AsText(url) + " must begin with ws:// or wss://");
  Result<ServerUrl> parsed = ParseServerUrl("http" + url.substr(2));
  if (!parsed.ok()) return Status::Error(AsText(url) + " " + parsed.status().message());
  return parsed;
}

}  // namespace

std::string RemoteRelay::FilterText(const Filter& filter) {
  std::string text = ToJson(filter);
  if (filter.since == 0) text.insert(1, text == "{}" ? "\"since\":0" : "\"since\":0,");
  return text;
}

Status RemoteRelay::CheckUrl(const std::string& url) {
  const Result<ServerUrl> parsed = ParseRelayUrl(url);
  return parsed.ok() ? Status() : parsed.status();
}

Result<std::unique_ptr<RemoteRelay>> RemoteRelay::Connect(const std::string& url, const std::string& ca_file,
                                                          std::stop_token stop) {
  Result<ServerUrl> parsed = ParseRelayUrl(url);
  if (!parsed.ok()) return parsed.status();
  const ServerUrl& at = parsed.value();
  WebSocketTarget target{.server = {.host = at.host, .port = at.port, .tls = at.tls, .ca_file = ca_file},
                         .path = at.path.empty() ? "/" : at.path,
                         .user_agent = "weir/" + std::string(Version())};
  std::unique_ptr<RemoteRelay> relay(new RemoteRelay(std::move(target), std::move(stop)));
  relay->information_ = ReadInformation(at, ca_file, relay->stop_);
  if (Status opened = relay->client_.Open(relay->PatienceOf(kLongestOpen)); !opened.ok())
    return Status::Error(AsText(url) + ": " + opened.message());
  return relay;
}

WebSocketClient::Patience RemoteRelay::PatienceOf(std::chrono::milliseconds time) const {
  return {.end = std::chrono::steady_clock::now() + time, .stop = stop_};
}

Status RemoteRelay::Ping() { return client_.Ping(PatienceOf(kLongestSend)); }

Status RemoteRelay::Say(std::string_view message) { return client_.Send(message, PatienceOf(kLongestSend)); }

Result<bool> RemoteRelay::Hear(std::chrono::milliseconds longest,
                               const std::function<Status(const RelayMessage& message)>& take) {
  bool heard = false;
  while (true) {
    const Result<std::optional<std::string_view>> text =
        client_.Receive(PatienceOf(heard ? std::chrono::milliseconds(0) : longest));
    if (!text.ok()) return text.status();
    if (!text.value()) return stop_.stop_requested() ? Result<bool>(Status::Error("stopped")) : heard;
    const Result<RelayMessage> message = ParseRelayMessage(*text.value());
    if (!message.ok()) return message.status();
    if (Status taken = take(message.value()); !taken.ok()) return taken;
    heard = true;
  }
}

}  // namespace weir
