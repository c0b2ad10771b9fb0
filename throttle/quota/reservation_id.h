// The ids of reservations: "<32 hex digits>@<escaped model>". Whoever settles one needs nothing else; nobody guesses
// that of another.
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

// From the system's random numbers.
ReservationToken RandomReservationToken();
// The same, some in advance: one call of the system takes as long as a decision.
//
// Threads: one at a time. Not across fork().
class ReservationTokens {
 public:
  ReservationToken Next();

 private:
  std::array<ReservationToken, 32> drawn_{};
  size_t left_ = 0;
};

// The same from the same texts, in every process; from others another, which nobody finds who does not know them.
ReservationToken NamedReservationToken(std::initializer_list<std::string_view> texts);

std::string FormatReservationId(const ReservationToken& token, std::string_view model);
// Nothing where it cannot be one of ours.
std::optional<ReservationId> ParseReservationId(std::string_view id);

}  // namespace weir
