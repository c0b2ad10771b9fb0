// The API's JSON: what the body of a call says, and what the answers look like (relay/gate/openapi.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/gate/quota_api.h"
#include "throttle/quota/quota_limiter.h"

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

inline constexpr std::string_view kBodyTooLong = "body_too_long";

struct QuotaApiError {
  std::string_view code = "invalid_request";  // a text for ever
  std::string message;
};

// The error says which key is wrong, what is there, and what was expected; or the byte at which it is no JSON. Bodies
// of more than kMaxCallBytes are not looked at (kBodyTooLong).
inline constexpr size_t kMaxCallBytes = 64 << 10;
std::optional<QuotaApiError> ReadQuotaCall(QuotaRoute::Call call, std::string_view text, QuotaCallBody* body);

// Of one line each, without spaces.
std::string WriteError(const QuotaApiError& error);
std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens);
std::string WriteSettled(const Settled& settled);
std::string WriteModel(const ModelStats& stats);
std::string WriteModels(const std::vector<ModelStats>& models);
std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving);

// "2026-02-20T14:32:01.5Z": RFC 3339, with as many digits as it takes, 9 at most.
std::string FormatUtc(WallTime time);

}  // namespace weir
