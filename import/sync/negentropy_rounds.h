// NegentropyRounds: compares the own set of events with that of another relay by NIP-77, as the client.
//
//   NegentropyRounds rounds(set);
//   rounds.Begin(filter, say);
//   rounds.OnMessage(message)          // for each message of the relay
//   rounds.Answer(say, &found)         // when the caller is ready for further differences
//
// A relay that does not know NIP-77, or that refuses to compare so many events, is no error: see refusal.
//
// Threads: only one thread at a time may use an object of this class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/negentropy/reconciler.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/relay_message.h"

namespace weir {

class NegentropyRounds {
 public:
  using Say = std::function<Status(std::string_view message)>;

  // The largest message of the comparison, in bytes before they become hex. Relays of other authors take 128 KiB.
  static constexpr size_t kFrameBytes = 60'000;

  // The set must be sealed, and must outlive the object.
  explicit NegentropyRounds(SyncPart set) : set_(set) {}

  Status Begin(const Filter& filter, const Say& say);
  // Returns true if the message belongs to the comparison. Returns an error if the relay ends the comparison in the
  // middle.
  Result<bool> OnMessage(const RelayMessage& message);
  // Works through the relay's last message, adds to `found`, and sends the next message. Does nothing if the relay has
  // the word. Returns an error if the relay's message is not well-formed.
  Status Answer(const Say& say, SyncDifferences* found);

  // Tells the relay that the comparison is over.
  static Status End(const Say& say);

  bool has_answered() const { return rounds_ > 0; }
  bool is_done() const { return done_; }
  uint64_t rounds() const { return rounds_; }
  // Returns why the relay does not compare sets; empty if it has not said so.
  const std::string& refusal() const { return refusal_; }

 private:
  const SyncPart set_;
  std::optional<std::string> answer_;  // the relay's last message, not worked through yet
  std::string refusal_;
  uint64_t rounds_ = 0;
  bool done_ = false;
};

}  // namespace weir
