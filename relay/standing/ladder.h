// Ladder: decides by the standing of its author how an event is treated, once its signature is verified. (Before that,
// the author of an event is only a claim.)
//
// Regular and trusted authors are interactive work, and each client address has its turns. All others are strangers:
// under pressure they get a small share of the writes (stranger_share.h), otherwise they are bulk work at the write
// gate. At both gates and in the writes of the commit thread all strangers together are one party among the addresses,
// and newcomers are another. Within these two, the addresses take turns. So a hundred addresses with fresh keys get no
// more than one address, and a flood of them does not hold back newcomers.
//
// A gift wrap (NIP-59) is signed by a key that is used once, so it stands as high as the highest of its author and the
// keys that its client has proved by AUTH. Ephemeral events are not stored, and have no standing: remote signers use
// fresh keys for them.
//
// Threads: any thread may call any function.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "relay/nostr/event.h"
#include "relay/standing/standings.h"
#include "relay/standing/stranger_share.h"
#include "throttle/admission.h"

namespace weir {

// The fate of an event at the gates. kWouldWait: it passed, and would have had to wait if the ladder were on.
enum class LadderOutcome : uint8_t { kPassed, kWaited, kRefused, kWouldWait };
inline constexpr size_t kLadderOutcomes = 4;
inline constexpr std::string_view kLadderOutcomeNames[] = {"passed", "waited", "refused", "would_wait"};

class Ladder {
 public:
  // `mode` is not kOff. The standings and the share must outlive the object.
  Ladder(LadderMode mode, Standings& standings, StrangerShare& share)
      : is_on_(mode == LadderMode::kOn), standings_(standings), share_(share) {}

  // Returns the rung of an event with a good signature, of a client that has proved these keys. Nullopt: the event has
  // no standing.
  std::optional<Rung> RungOf(EventView event, std::span<const PublicKey> proved) const;
  // Returns true if events of this rung may be held back.
  bool HoldsBack(Rung rung) const { return is_on_ && rung < Rung::kRegular; }
  // Returns the party of an event that may be held back, at the gates and in the commit; `client` is its connection.
  static Party PartyOf(Rung rung, const Party& client);
  // Returns the class of such an event at the write gate. Under pressure it has passed the share, which is a part of
  // what clients get; bulk work gets only what clients leave.
  WorkClass ClassAtGate() const { return share_.limits() ? WorkClass::kInteractive : WorkClass::kBulk; }
  // Returns true if the event would have to wait or be refused if the ladder were on; charges the share as if it were.
  bool WouldWait(Rung rung, Cost cost, const Party& client);
  // Returns the reason to refuse an event that was held back.
  static std::string Refusal(Rung rung, Duration retry_after);

  // Counts the fate of an event.
  void Count(Rung rung, LadderOutcome outcome) { ++counts_[static_cast<size_t>(rung)][static_cast<size_t>(outcome)]; }
  uint64_t Counted(Rung rung, LadderOutcome outcome) const {
    return counts_[static_cast<size_t>(rung)][static_cast<size_t>(outcome)];
  }

  bool is_on() const { return is_on_; }
  Standings& standings() { return standings_; }
  StrangerShare& share() { return share_; }

 private:
  const bool is_on_;
  Standings& standings_;
  StrangerShare& share_;
  std::array<std::array<std::atomic<uint64_t>, kLadderOutcomes>, kRungs> counts_{};
};

}  // namespace weir
