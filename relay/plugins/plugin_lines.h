// The lines that the relay and a policy plugin write to each other, in the protocol of strfry's plugins. A policy
// plugin is a program of the operator that decides which events the relay stores and which requests it answers. The
// relay writes a question as a line of JSON to the plugin's standard input; the plugin writes an answer as a line of
// JSON to its standard output. Answers may come in any order; each has the id of its question.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"

namespace weir {

// The members sourceType and sourceInfo of a question, which say how an event or a request has reached the relay.
struct PluginSource {
  std::string_view type;  // "IP4", "IP6", "Import" or "Stream"
  std::string_view info;  // the client's address; the URL of the relay of a stream; empty for an import
};
inline constexpr PluginSource kImportSource{.type = "Import", .info = ""};
// Returns the source for a client with this address.
PluginSource SourceOfClient(std::string_view address);

struct PluginQuestion {
  std::string id;        // the member "id" of its answer
  std::string line;      // ends with a newline
  uint64_t address = 0;  // stands for the client's address (Party::group); 0: an import
};

// Returns the question about an event; its id is the event's id. `received_at` is in seconds since 1970.
//   {"type":"new","event":{…},"receivedAt":1700000000,"sourceType":"IP4","sourceInfo":"192.0.2.1"}
PluginQuestion QuestionAbout(EventView event, uint64_t received_at, const PluginSource& source);

// A REQ, COUNT or NEG-OPEN about which a plugin is asked.
struct AskedRequest {
  std::string_view subscription;
  std::span<const Filter> filters;
  std::string_view verb = "REQ";
  std::span<const std::string> keys;  // the public keys that the client has proved by AUTH, in hexadecimal
};
// Returns the question about a request. strfry has no such questions. The id is "req-" and a number that no other
// question of this process has, because clients choose the ids of their subscriptions.
//   {"type":"req","id":"req-7","verb":"REQ","subscription":"home","filters":[{…}],"authed":["…"],"receivedAt":…,
//    "sourceType":"IP4","sourceInfo":"192.0.2.1"}
PluginQuestion QuestionAbout(const AskedRequest& request, uint64_t received_at, const PluginSource& source);

// kShadowReject: the client is told that the relay has accepted the event, but the relay neither stores nor delivers
// it; a request is answered as if no event matched.
enum class PluginAction : uint8_t { kAccept, kReject, kShadowReject };
inline constexpr size_t kPluginActions = 3;

struct PluginAnswer {
  std::string id;
  PluginAction action = PluginAction::kReject;
  std::string message;  // the reason for a refusal; may be empty
};
// Reads {"id":"…","action":"accept|reject|shadowReject","msg":"…"}, without the newline. Ignores other members. Returns
// an error if the line is anything else.
Result<PluginAnswer> ParsePluginAnswer(std::string_view line);

// Returns the text of a refusal for the client: the plugin's message. Puts "blocked: " before a message that does not
// begin with one of NIP-01's prefixes.
std::string RefusalByPlugin(std::string_view message);

}  // namespace weir
