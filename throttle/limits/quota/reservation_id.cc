#include "throttle/limits/quota/reservation_id.h"

#include <openssl/evp.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): arc4random_buf

#include <array>
#include <charconv>
#include <cstring>

#include "config/text/hex.h"
#include "throttle/limits/quota/quota.h"

namespace weir {
namespace {

constexpr size_t kHexDigits = 16;  // in each half of a token
constexpr size_t kTokenDigits = 2 * kHexDigits;

bool ReadHalf(std::string_view text, uint64_t* half) {
  std::array<uint8_t, sizeof *half> bytes{};
  if (!FromHex(text, bytes.data(), bytes.size())) return false;
  for (const uint8_t byte : bytes) *half = *half << 8 | byte;
  return true;
}

// Reads the part of an id between the token and the '@'.
bool ReadRound(std::string_view text, uint32_t* round) {
  if (text.empty()) return true;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, *round);
  return text.size() > 1 && text[0] == '.' && text[1] != '0' && stop == end && error == std::errc();
}

}  // namespace

ReservationToken RandomReservationToken() {
  ReservationToken token{};
  arc4random_buf(token.data(), sizeof token);
  return token;
}

ReservationToken ReservationTokens::Next() {
  if (left_ == 0) {
    arc4random_buf(drawn_.data(), sizeof drawn_);
    left_ = drawn_.size();
  }
  return drawn_[--left_];
}

ReservationToken NamedReservationToken(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all.append(std::to_string(text.size())).append(":").append(text);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(all.data(), all.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  ReservationToken token{};
  std::memcpy(token.data(), digest.data(), sizeof token);
  return token;
}

std::string FormatReservationId(const ReservationToken& token, std::string_view model, uint32_t round) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::array<char, kTokenDigits + 1> digits{};
  digits.back() = '@';
  for (size_t i = 0; i < kTokenDigits; ++i) digits[i] = kHex[token[i / kHexDigits] >> (60 - i % kHexDigits * 4) & 15];
  const std::string name = EscapeName(model);
  std::string id;
  id.reserve(digits.size() + name.size());
  id.append(digits.data(), digits.size()).append(name);
  if (round > 0) id.insert(kTokenDigits, "." + std::to_string(round));
  return id;
}

std::optional<ReservationId> ParseReservationId(std::string_view id) {
  const size_t at = id.find('@');
  if (at == id.npos || at < kTokenDigits || at + 1 == id.size()) return {};
  ReservationId parsed{};
  if (!ReadHalf(id.substr(0, kHexDigits), &parsed.token[0]) ||
      !ReadHalf(id.substr(kHexDigits, kHexDigits), &parsed.token[1]) ||
      !ReadRound(id.substr(kTokenDigits, at - kTokenDigits), &parsed.round))
    return {};
  const std::string_view model = id.substr(at + 1);
  parsed.model = UnescapeName(model);
  if (EscapeName(parsed.model) != model) return {};
  return parsed;
}

}  // namespace weir
