// ReservationId: the id of a reservation, "<32 hex digits>@<escaped model>" or, if its round is above 0,
// "<32 hex digits>.<round>@<escaped model>". The digits are the reservation's token. A client needs only the id to
// settle a reservation, and cannot guess the ids of other clients' reservations.
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
  size_t operator()(const ReservationToken& token) const { return token[0]; }  // random already, or a digest
};

struct ReservationId {
  ReservationToken token;
  // How many reservations with this token were refunded before any use, and so made way for this one (Charge::token).
  // Tells a repeated refund of an earlier one from a refund of this one.
  uint32_t round = 0;
  std::string model;
};

// Returns a token of random bits from the operating system.
ReservationToken RandomReservationToken();
// ReservationTokens: returns tokens of random bits. It draws several at a time, because a system call takes as long as
// a decision.
//
// Not thread-safe. After a fork() both processes would get the same tokens.
class ReservationTokens {
 public:
  ReservationToken Next();

 private:
  std::array<ReservationToken, 32> drawn_{};
  size_t left_ = 0;
};

// Returns a token that is computed from the texts. The same texts give the same token in every process, and other texts
// give another token. The token cannot be computed without knowing the texts.
ReservationToken NamedReservationToken(std::initializer_list<std::string_view> texts);

std::string FormatReservationId(const ReservationToken& token, std::string_view model, uint32_t round = 0);
// Returns nothing if `id` does not have the form of an id.
std::optional<ReservationId> ParseReservationId(std::string_view id);

}  // namespace weir
