// Requests: the REQs and COUNTs of one connection; each is a Request.
//
// A subscription enters the live index before its query is made, and holds live events until the stored ones are out.
// Then, and for ever after, it drops live events that its query has seen, which are those stored at the query's moment.
// So each event comes once, stored or live.
//
// Few requests of a connection run at once; the others wait in order. While much output of a connection is pending, its
// requests get no further slices until the client has taken most of it.
//
// Used on the connection's I/O thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relay/protocol/request.h"

namespace weir {

class Requests : public std::enable_shared_from_this<Requests> {
 public:
  Requests(RelayContext& context, std::shared_ptr<Peer> peer) : context_(context), peer_(std::move(peer)) {}

  void Subscribe(Req req);
  void Count(CountReq count);
  void Close(const std::string& subscription);
  // Ends all of them with a CLOSED for each.
  void CloseAll(std::string_view reason);
  // Ends all of them because the connection is gone.
  void End();

  // The functions below are for its requests.
  void Remove(Request& request);
  void ReturnPlace();
  // Returns true if the client has so much to take, with what is about to be sent, that nothing more is read for it.
  bool IsBehind(uint64_t about_to_be_said = 0) const;
  void WhenCaughtUp(std::function<void()> callback);
  // Returns true if its requests may hold this many more bytes of live events, besides the pending output.
  bool MayHold(uint64_t bytes) const;
  void Hold(uint64_t bytes) { held_bytes_ += bytes; }
  void LetGo(uint64_t bytes) { held_bytes_ -= bytes; }

 private:
  void Add(std::string name, std::vector<Filter> filters, bool is_count);
  std::string RefusalOf(const std::vector<Filter>& filters) const;
  void StartNext();
  void StartNextSoon();
  void RemoveSomeSoon();

  RelayContext& context_;
  const std::shared_ptr<Peer> peer_;
  std::unordered_map<const Request*, std::shared_ptr<Request>> requests_;
  std::unordered_map<std::string, Request*> by_name_;  // subscriptions
  std::deque<Request*> queue_;                         // requests that have not begun
  size_t running_ = 0;
  bool waits_for_room_ = false;
  bool starts_soon_ = false;
  uint64_t held_bytes_ = 0;
};

}  // namespace weir
