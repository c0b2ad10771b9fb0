// RequestRoom: the part of Requests that its requests use. It knows how much output and how many live events wait for
// the client, and passes calls back to Requests. A request may outlive Requests, because a worker may still read for
// it. So Requests and each Request own the RequestRoom together, and a request needs no check before it uses the room.
//
// Threads: all functions run on the connection's I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "relay/protocol/peer.h"
#include "relay/protocol/relay_context.h"

namespace weir {

class Request;

class RequestRoom {
 public:
  // The functions of its owner that a request calls.
  class Owner {
   public:
    // Removes `request` and ends it (Request::End).
    virtual void Remove(Request& request) = 0;
    // Frees the place of a request. The next request starts in a later task.
    virtual void ReturnPlace() = 0;

   protected:
    ~Owner() = default;
  };

  // The owner must call Close before it is destroyed.
  RequestRoom(RelayContext& context, std::shared_ptr<Peer> peer, Owner& owner)
      : context_(context), peer_(std::move(peer)), owner_(&owner) {}

  // From now on Remove and ReturnPlace do nothing.
  void Close() { owner_ = nullptr; }
  bool is_closed() const { return owner_ == nullptr; }
  void Remove(Request& request) {
    if (owner_ != nullptr) owner_->Remove(request);
  }
  void ReturnPlace() {
    if (owner_ != nullptr) owner_->ReturnPlace();
  }

  // Returns the reason for which the operator's rules do not let the client read any more, with its prefix; empty if
  // there is none. Judges again only if the rules or the client's keys have changed since the last call.
  const std::string& RefusalOfReader();
  // Returns true if so much output waits for the client that its requests should not read the store. Counts
  // `about_to_be_said` bytes as waiting output, too.
  bool IsBehind(uint64_t about_to_be_said = 0) const;
  // Calls `callback` once, in a later task, when the client has taken most of its output. Does not call it after the
  // connection has ended.
  void WhenCaughtUp(std::function<void()> callback);
  // Returns true if the requests may hold `bytes` more of live events that wait for EOSE. All such events and the
  // waiting output together must not exceed RelayContext::max_pending_bytes.
  bool MayHold(uint64_t bytes) const;
  // Hold adds, and LetGo subtracts, bytes of live events that the requests hold.
  void Hold(uint64_t bytes) { held_bytes_ += bytes; }
  void LetGo(uint64_t bytes) { held_bytes_ -= bytes; }

 private:
  RelayContext& context_;
  const std::shared_ptr<Peer> peer_;
  Owner* owner_;                            // null once it is closed
  uint64_t rules_generation_ = UINT64_MAX;  // that of the rules by which `reader_refusal_` was judged
  size_t keys_ = 0;                         // the number of the client's keys then; it never falls
  std::string reader_refusal_;
  uint64_t held_bytes_ = 0;  // bytes of live events that the requests hold
};

}  // namespace weir
