// The vocabulary of the quota limiter: what a model may use, what it has used, and why a request was refused.
//
// Times are wall-clock times (WallTime), because the windows outlive the process. Amounts are 0..kMostAmount
// everywhere; a larger amount is cut down to it, which can only refuse more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

// A quadrillion: far more than any provider sells, exact in JSON and in Lua; thousands of it fit into 64 bits.
inline constexpr int64_t kMostAmount = 1'000'000'000'000'000;

// Returns the sum, at most kMostAmount.
inline int64_t AddAmounts(int64_t a, int64_t b) { return std::min(kMostAmount, a + b); }

// Names of models, users, tenants, keys and instances: 1 to 256 bytes, valid UTF-8, no control characters. All other
// characters are allowed; code that builds keys from names escapes them (EscapeName).
inline constexpr size_t kMaxNameBytes = 256;
// The error says what is wrong with the `what` ("model"); it does not repeat the whole name.
Status CheckName(std::string_view what, std::string_view name);
// Replaces '%', ':', '{', '}' and '@' by % and hex digits, so that names joined by ':' stay apart; and back.
std::string EscapeName(std::string_view name);
std::string UnescapeName(std::string_view escaped);

// Limits of a model. 0 is unlimited; a quota that was checked is never negative.
struct ModelQuota {
  int64_t max_rpm = 0;  // requests in any minute
  int64_t max_tpm = 0;  // tokens in any minute
  int64_t max_rpd = 0;  // requests in 24 h from the first of them

  bool unlimited() const { return max_rpm == 0 && max_tpm == 0 && max_rpd == 0; }
  bool operator==(const ModelQuota&) const = default;
};
Status CheckQuota(std::string_view model, const ModelQuota& quota);
std::string Describe(const ModelQuota& quota);  // "500 requests/min, 30000 tokens/min, no limit a day"

inline constexpr Duration kMinute = std::chrono::minutes(1);
inline constexpr Duration kDay = std::chrono::hours(24);
// The count of a calendar day or month is kept so long after its end: the clock may step back, or another machine's may
// be behind.
inline constexpr Duration kPeriodKept = std::chrono::hours(1);

// Usage that counts at this moment; reserved amounts count as used.
struct ModelUsage {
  int64_t rpm = 0;
  int64_t tpm = 0;
  int64_t rpd = 0;
  WallTime day_start{};  // start of the current day; the epoch if none has begun
  int64_t open_reservations = 0;

  bool operator==(const ModelUsage&) const = default;
};

// Why a request may go or may not. The HTTP API, the metrics and the command line use the texts of NameOf.
enum class QuotaCode : uint8_t {
  kOk,
  kUnlimited,      // the model has no limit
  kUnknownModel,   // no quota is known for it; the policy decides whether it may go
  kInvalidTokens,  // negative
  kInvalidName,    // a bad name of a model, user, … or idempotency key, or an unknown QoS class
  kRpdExceeded,
  kRpmExceeded,
  kTpmExceeded,
  kTierExceeded,      // a tier's limit: Decision::tier says which
  kTooLarge,          // can never fit, whatever the time
  kTooManyNames,      // no room for another name, or for another open reservation of the model
  kStoreUnavailable,  // the store did not answer; the policy decides whether the request may go
  kDenied,            // the configuration forbids it, whatever is left
  kKeyReused,         // its idempotency key was used before, with another number of tokens
};
inline constexpr size_t kQuotaCodes = 14;
std::string_view NameOf(QuotaCode code);  // "ok", "unlimited", "unknown_model", …

}  // namespace weir
