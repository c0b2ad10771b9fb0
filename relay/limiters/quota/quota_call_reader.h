// Reads the body of a call of the API (relay/limiters/openapi.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relay/limiters/api_errors.h"
#include "relay/limiters/quota/quota_api.h"

namespace weir {

// The values of all calls together; what the body did not name has none.
struct QuotaCallBody {
  std::optional<std::string> model;
  std::optional<std::string> user;
  std::optional<std::string> tenant;
  std::optional<std::string> api_key;
  std::optional<std::string> instance;
  std::optional<std::string> qos;
  std::optional<std::string> reservation;
  std::optional<int64_t> tokens;
  std::optional<int64_t> prompt_tokens;
  std::optional<int64_t> output_tokens;
  std::optional<int64_t> ttl_seconds;
  std::optional<int64_t> max_rpm;
  std::optional<int64_t> max_tpm;
  std::optional<int64_t> max_rpd;
  std::optional<bool> charge;

  // The tokens, or prompt and output together.
  int64_t cost() const;
};

// The error says which key is wrong, what is there, and what was expected; or the byte at which it is no JSON. Bodies
// of more than kMaxCallBytes are not looked at (kBodyTooLong).
inline constexpr size_t kMaxCallBytes = 64 << 10;
std::optional<ApiError> ReadQuotaCall(QuotaRoute::Call call, std::string_view text, QuotaCallBody* body);

}  // namespace weir
