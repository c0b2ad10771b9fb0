// Requests: the open REQs, COUNTs and NEG-OPENs of one connection. Each of them is a Request (request.h).
//
// On each subscription a client gets an event once, stored or live. For this, a subscription enters the live index
// before its query is made, and queues live events until the stored events are sent. Then it sends the queued events
// and all later ones. But it drops those that match a filter of the query and were already stored at the query's moment
// (Moment in relay/store/serial.h), because the query has already sent or rejected them.
//
// At most four requests of a connection run at once, each in one of the connection's four places. The other requests
// wait in the order in which they came. If much output waits for the client, no request starts, and none reads on,
// until the client has taken most of the output.
//
// If the operator has a read plugin (relay/plugins/policy_plugin.h), it judges each request before the request waits
// for a place. A request that the plugin has not judged yet counts like one that waits.
//
// Threads: all functions run on the connection's I/O thread. After End the destructor may run on any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relay/plugins/policy_plugin.h"
#include "relay/protocol/request.h"
#include "relay/protocol/request_room.h"

namespace weir {

class Requests final : private RequestRoom::Owner, public std::enable_shared_from_this<Requests> {
 public:
  // Must be made with std::make_shared. `context` must outlive the object.
  Requests(RelayContext& context, std::shared_ptr<Peer> peer);
  ~Requests();

  // Adds a REQ, or answers CLOSED if it is refused. First ends an open subscription with the same id, without a CLOSED.
  void Subscribe(Req req);
  // Adds a COUNT, or answers CLOSED if it is refused. The filters' limits are ignored.
  void Count(CountReq count);
  // Ends the REQ with this id, without an answer. Does nothing if there is none, even if a COUNT has this id.
  void Close(const std::string& subscription) { CloseNamed(subscription, &by_name_); }
  // Adds a NEG-OPEN, or answers NEG-ERR if it is refused. First ends an open NEG-OPEN with the same id. A NEG-OPEN and
  // a REQ may have the same id.
  void OpenSync(NegOpen open);
  // Answers the message, or ends the NEG-OPEN with NEG-ERR.
  void Hear(NegMsg message);
  // Ends the NEG-OPEN with this id, without an answer. Does nothing if there is none.
  void CloseSync(const std::string& subscription) { CloseNamed(subscription, &syncs_); }
  // Ends the NEG-OPENs whose clients have sent nothing for two minutes, with a NEG-ERR for each.
  void CloseSilentSyncs();
  // Ends all requests, with a CLOSED for each. `reason` begins with one of NIP-01's prefixes.
  void CloseAll(std::string_view reason);
  // Does the same, in several tasks, if the operator's rules do not let the client read any more. Looks at the rules
  // only if they have changed since the last call.
  void CloseIfDenied();
  // Ends all requests, because the connection has ended. Stops them at once, and removes them in later tasks,
  // or at once if memory runs out.
  void End();

 private:
  void Remove(Request& request) override;
  void ReturnPlace() override;
  using ByName = std::unordered_map<std::string, Request*>;

  void Add(std::string name, std::vector<Filter> filters, Verb verb, std::string message = {});
  void CloseNamed(const std::string& name, ByName* requests);
  void AskPlugin(Request& request);
  void OnVerdict(Request* request, const PluginVerdict& verdict);
  void Queue(Request& request);
  std::string RefusalOf(const std::vector<Filter>& filters, Verb verb) const;
  void StartNext();
  void StartNextSoon();
  void RemoveSomeSoon();

  RelayContext& context_;
  const std::shared_ptr<Peer> peer_;
  const std::shared_ptr<RequestRoom> room_;
  std::unordered_map<const Request*, std::shared_ptr<Request>> requests_;
  ByName by_name_;               // the REQs by their ids
  ByName syncs_;                 // the NEG-OPENs by their ids
  std::deque<Request*> queue_;   // requests that may start and have not started
  size_t questions_ = 0;         // questions to the plugin, also about requests that have ended
  size_t running_ = 0;           // the number of requests that have a place
  bool waits_for_room_ = false;  // true while no request starts because much output waits
  bool starts_soon_ = false;     // true while a task that calls StartNext is posted
};

}  // namespace weir
