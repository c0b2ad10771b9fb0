// Counts what became of the lines of an import.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class LineOutcome : uint8_t {
  kImported,
  kDuplicate,  // stored already
  kReplaced,   // the store has a newer version
  kDeleted,    // its author deleted it or vanished (NIP-09, NIP-62)
  kExpired,    // its time has passed (NIP-40)
  kBlank,
  // From here on rejected: the line is kept for the operator of the import.
  kInvalid,    // no event as NIP-01 defines it, or larger than this relay takes
  kSignature,  // the signature is not its author's
  kTooLong,    // longer than any event may be
  kFuture,     // dated too far ahead
  kNotStored,  // its kind is stored by no relay: ephemeral, AUTH
};
inline constexpr size_t kLineOutcomes = 11;
inline constexpr auto kFirstRejected = static_cast<size_t>(LineOutcome::kInvalid);  // the first rejection

constexpr bool IsRejected(LineOutcome outcome) { return outcome >= LineOutcome::kInvalid; }
// Returns the name that summaries and logs use: "imported", "bad signature" …
std::string_view NameOf(LineOutcome outcome);
// Returns the name that JSON and metrics use: "imported", "bad_signature" …
std::string_view KeyOf(LineOutcome outcome);

struct Tally {
  std::array<uint64_t, kLineOutcomes> lines{};
  uint64_t bytes = 0;

  uint64_t& operator[](LineOutcome outcome) { return lines[static_cast<size_t>(outcome)]; }
  uint64_t operator[](LineOutcome outcome) const { return lines[static_cast<size_t>(outcome)]; }
  Tally& operator+=(const Tally& other);

  uint64_t read() const;  // lines
  uint64_t rejected() const;
  uint64_t events() const;  // lines that were events, taken or not needed
};

}  // namespace weir
