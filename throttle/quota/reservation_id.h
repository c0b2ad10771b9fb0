// The ids of reservations: "<32 hex digits>@<escaped model>". A caller needs only the id to settle a reservation, and
// cannot guess another's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

using ReservationToken = std::array<uint64_t, 2>;
struct HashReservationToken {
  size_t operator()(const ReservationToken& token) const { return token[0]; }  // random already
};

struct ReservationId {
  ReservationToken token;
  std::string model;
};

// Uses the system's random numbers.
ReservationToken RandomReservationToken();
// The same, drawn some in advance: one system call takes as long as a decision.
//
// Threads: one at a time. Not across fork().
class ReservationTokens {
 public:
  ReservationToken Next();

 private:
  std::array<ReservationToken, 32> drawn_{};
  size_t left_ = 0;
};

// Returns the same token for the same texts, in every process. Other texts give another token, which cannot be found
// without knowing them.
ReservationToken NamedReservationToken(std::initializer_list<std::string_view> texts);

std::string FormatReservationId(const ReservationToken& token, std::string_view model);
// Returns nothing if it cannot be one of ours.
std::optional<ReservationId> ParseReservationId(std::string_view id);

}  // namespace weir
