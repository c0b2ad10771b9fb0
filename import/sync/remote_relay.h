// RemoteRelay: a connection to another relay, as its client. Messages of NIP-01 and NIP-77 go both ways.
//
// An error ends the connection; it is a sentence for the operator.
//
// Threads: only one thread at a time may use a RemoteRelay.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/wire/websocket/websocket_client.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/relay_message.h"

namespace weir {

class RemoteRelay {
 public:
  // Returns an error if the text is not ws:// or wss://host[:port][/path].
  static Status CheckUrl(const std::string& url);
  // Returns the filter's JSON with a condition even if it has none, because some relays answer `{}` by nothing.
  static std::string FilterText(const Filter& filter);
  // Connects. `ca_file` has the certificates to trust; empty: those of the system. A requested stop ends each call of
  // the relay with an error.
  static Result<std::unique_ptr<RemoteRelay>> Connect(const std::string& url, const std::string& ca_file,
                                                      std::stop_token stop);

  // The relay says this in its NIP-11 document.
  struct Information {
    bool lists_nips = false;                 // it names the NIPs that it knows
    bool knows_negentropy = false;           // NIP-77 is among them
    size_t most_message_bytes = SIZE_MAX;    // limitation.max_message_length
    uint64_t most_sync_events = UINT64_MAX;  // limitation.max_sync_events, which weir states
  };
  const Information& information() const { return information_; }

  Status Say(std::string_view message);
  // Makes the relay send some bytes, if it is there.
  Status Ping();
  // Waits at most this long for a message, and calls `take` with it and with those that have arrived behind it. Returns
  // false if none came.
  Result<bool> Hear(std::chrono::milliseconds longest, const std::function<Status(const RelayMessage& message)>& take);

  uint64_t bytes_sent() const { return client_.bytes_sent(); }
  uint64_t bytes_received() const { return client_.bytes_received(); }

 private:
  RemoteRelay(WebSocketTarget target, std::stop_token stop) : client_(std::move(target)), stop_(std::move(stop)) {}
  WebSocketClient::Patience PatienceOf(std::chrono::milliseconds time) const;

  WebSocketClient client_;
  const std::stop_token stop_;
  Information information_;
};

}  // namespace weir
