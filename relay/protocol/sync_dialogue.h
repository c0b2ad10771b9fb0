// SyncDialogue: the relay's side of one NEG-OPEN (NIP-77). First it gathers the ids and dates of the events that the
// query finds. Then it answers the messages of the client, one after the other, from this set (relay/negentropy), which
// does not change any more: events that are saved or deleted later make no difference. The query must pass at least one
// event more than a set may have, or say that it is not complete (IdsOnly), if it finds too many; so none of its
// filters may have the limit 0.
//
// A set takes 41 bytes for each event. It may have as many events as WEIR_MAX_SYNC_EVENTS says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "relay/negentropy/reconciler.h"
#include "relay/negentropy/sync_set.h"
#include "relay/protocol/gathering.h"

namespace weir {

class SyncDialogue final : public Gathering {
 public:
  // `subscription` is the id of the NEG-OPEN, and `message` its first message. `has_limit` is true if a filter has a
  // limit, so that the query need not find all matches. An answer has at most `frame_bytes` bytes before it is written
  // in hexadecimal.
  SyncDialogue(std::string subscription, std::string message, bool has_limit, uint64_t most_events, size_t frame_bytes)
      : subscription_(std::move(subscription)),
        message_(std::move(message)),
        has_limit_(has_limit),
        most_events_(most_events),
        frame_bytes_(frame_bytes) {}

  // Makes the set an empty one, without a query. Called before the first call of Next.
  void FindNothing() { gathered_ = true; }
  // Takes the next message. REQUIRES: the message before was answered.
  void Hear(std::string message);

  bool wants_query() const override { return !gathered_; }
  Result<Progress> Next(const EventStore& store, Query* query, Work most) override;
  std::string refusal() const override { return refusal_; }
  // Returns true if no message has been answered yet.
  bool is_first() const { return is_first_; }
  // Returns true if it gave up because the set would have too many events.
  bool is_too_big() const { return is_too_big_; }
  // Returns the work for the present message.
  Work own_work() const override { return other_work_ + (reconciler_ ? reconciler_->work() : 0); }
  uint64_t events() const override { return set_.size(); }
  uint64_t held_bytes() const override;
  std::string TakeAnswer() override {
    is_first_ = false;
    return std::exchange(answer_, {});
  }

 private:
  Result<Progress> Gather(Query& query, Work most);

  const std::string subscription_;
  std::string message_;
  const bool has_limit_;
  const uint64_t most_events_;
  const size_t frame_bytes_;
  SyncSet set_;
  bool is_first_ = true;
  bool is_too_big_ = false;
  bool gathered_ = false;
  bool sealed_ = false;
  Work other_work_ = 0;                     // the work for the present message, without that of reconciler_
  std::unique_ptr<Reconciler> reconciler_;  // only while a message is answered
  std::string answer_;
  std::string refusal_;
};

}  // namespace weir
