#include "relay/standing/ladder.h"

#include <algorithm>
#include <chrono>

#include "relay/nostr/gift_wrap.h"

namespace weir {
namespace {

// The groups of those that are held back. The groups of addresses are hashes, which do not meet these by chance.
constexpr uint64_t kStrangersGroup = ~uint64_t{0};
constexpr uint64_t kNewcomersGroup = kStrangersGroup - 1;

}  // namespace

std::optional<Rung> Ladder::RungOf(EventView event, std::span<const PublicKey> proved) const {
  if (ClassOf(event.kind()) == KindClass::kEphemeral) return std::nullopt;
  Rung rung = standings_.RungOf(event.pubkey());
  if (event.kind() != kGiftWrapKind) return rung;
  for (const PublicKey& key : proved) rung = std::max(rung, standings_.RungOf(key));
  return rung;
}

Party Ladder::PartyOf(Rung rung, const Party& client) {
  return {.id = GroupOf(client),
          .work_class = WorkClass::kBulk,
          .group = rung == Rung::kNewcomer ? kNewcomersGroup : kStrangersGroup};
}

bool Ladder::WouldWait(Rung rung, Cost cost, const Party& client) {
  // The share lets no event wait while the ladder observes: an event without a turn is not charged.
  return rung < Rung::kRegular && !share_.Admit(cost, PartyOf(rung, client)).admitted();
}

std::string Ladder::Refusal(Rung rung, Duration retry_after) {
  // The gate adds a microsecond to a time that it foretells, which must not become a second here.
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(retry_after);
  const auto seconds = std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(milliseconds).count());
  return std::string("rate-limited: ") + (rung == Rung::kReported ? "reported keys" : "new keys") +
         " wait while this relay is busy; try again in " + std::to_string(seconds) + " s";
}

}  // namespace weir
