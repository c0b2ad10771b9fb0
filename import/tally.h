// Tally: counts the lines of an import by outcome.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class LineOutcome : uint8_t {
  kImported,
  kDuplicate,  // the event was stored already
  kReplaced,   // the store has a newer version
  kDeleted,    // the author deleted the event or vanished (NIP-09, NIP-62)
  kExpired,    // the expiration of the event has passed (NIP-40)
  kRefused,    // a policy plugin refused the event (WEIR_WRITE_PLUGIN), or administrators have banned it
  kBlank,
  // The following outcomes are rejections: the import keeps the line in its rejects file.
  kInvalid,    // not an event as NIP-01 defines it, or larger than this relay allows
  kSignature,  // the signature is not that of the author
  kTooLong,    // the line is longer than MaxLineBytes (input/line_splitter.h)
  kFuture,     // created_at is too far in the future
  kNotStored,  // relays do not store events of this kind: ephemeral kinds, and AUTH (22242)
};
inline constexpr size_t kLineOutcomes = 12;
inline constexpr auto kFirstRejected = static_cast<size_t>(LineOutcome::kInvalid);

constexpr bool IsRejected(LineOutcome outcome) { return outcome >= LineOutcome::kInvalid; }
// Returns the name that summaries and logs use: "imported", "bad signature" …
std::string_view NameOf(LineOutcome outcome);
// Returns the name that JSON and metrics use: "imported", "bad_signature" …
std::string_view KeyOf(LineOutcome outcome);

// The number of lines for each outcome.
struct Tally {
  std::array<uint64_t, kLineOutcomes> lines{};  // by LineOutcome
  uint64_t bytes = 0;                           // bytes of all lines

  uint64_t& operator[](LineOutcome outcome) { return lines[static_cast<size_t>(outcome)]; }
  uint64_t operator[](LineOutcome outcome) const { return lines[static_cast<size_t>(outcome)]; }
  Tally& operator+=(const Tally& other);

  uint64_t read() const;      // all lines
  uint64_t rejected() const;  // lines with a rejection
  uint64_t events() const;    // lines with neither a rejection nor kBlank
};

}  // namespace weir
