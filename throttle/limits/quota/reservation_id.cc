#include "throttle/limits/quota/reservation_id.h"

#include <openssl/evp.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): arc4random_buf

#include <array>
#include <cstring>

#include "config/text/hex.h"
#include "throttle/limits/quota/quota.h"

namespace weir {
namespace {

constexpr size_t kHexDigits = 16;  // in each half of a token

bool ReadHalf(std::string_view text, uint64_t* half) {
  std::array<uint8_t, sizeof *half> bytes{};
  if (!FromHex(text, bytes.data(), bytes.size())) return false;
  for (const uint8_t byte : bytes) *half = *half << 8 | byte;
  return true;
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

std::string FormatReservationId(const ReservationToken& token, std::string_view model) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::array<char, 2 * kHexDigits + 1> digits{};
  digits.back() = '@';
  for (size_t i = 0; i < 2 * kHexDigits; ++i) digits[i] = kHex[token[i / kHexDigits] >> (60 - i % kHexDigits * 4) & 15];
  const std::string name = EscapeName(model);
  std::string id;
  id.reserve(digits.size() + name.size());
  return id.append(digits.data(), digits.size()).append(name);
}

std::optional<ReservationId> ParseReservationId(std::string_view id) {
  if (id.size() <= 2 * kHexDigits + 1 || id[2 * kHexDigits] != '@') return {};
  ReservationId parsed{};
  if (!ReadHalf(id.substr(0, kHexDigits), &parsed.token[0]) ||
      !ReadHalf(id.substr(kHexDigits, kHexDigits), &parsed.token[1]))
    return {};
  const std::string_view model = id.substr(2 * kHexDigits + 1);
  parsed.model = UnescapeName(model);
  if (EscapeName(parsed.model) != model) return {};
  return parsed;
}

}  // namespace weir
