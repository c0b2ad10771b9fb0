// The types of the quota limiter (quota_limiter.h) for the quota of a model, for its usage, and for the reason why a
// request is allowed or refused.
//
// Times are wall-clock times (WallTime), because windows that are kept in a file or in Redis continue when the process
// is restarted. Amounts are from 0 to kMostAmount. A larger number of tokens is reduced to kMostAmount. So is a larger
// limit of a ModelQuota, which can then only refuse more. A larger limit of a tier is an error (CheckLimit).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

// A quadrillion, far more than any provider sells. JSON and Lua can represent it exactly, and the sum of thousands of
// such amounts fits into 64 bits.
inline constexpr int64_t kMostAmount = 1'000'000'000'000'000;

// Returns the sum of two amounts, at most kMostAmount.
inline int64_t AddAmounts(int64_t a, int64_t b) { return std::min(kMostAmount, a + b); }

// A name of a model, user, tenant, API key, instance or class has 1 to 256 bytes of valid UTF-8, without control
// characters. All other characters are allowed, so code that builds keys from names must escape the names (EscapeName).
inline constexpr size_t kMaxNameBytes = 256;
// Returns an error if `name` is not such a name. The error begins with `what`, such as "model", and does not contain
// the name.
Status CheckName(std::string_view what, std::string_view name);
// EscapeName replaces '%', ':', '{', '}' and '@' by '%' and two hex digits, so that names can be joined with ':'.
// UnescapeName does the reverse. It returns a text unchanged if an escape in it is malformed.
std::string EscapeName(std::string_view name);
std::string UnescapeName(std::string_view escaped);

// The limits of a model. 0 means no limit. A negative limit is invalid (CheckQuota).
struct ModelQuota {
  int64_t max_rpm = 0;  // requests in any minute
  int64_t max_tpm = 0;  // tokens in any minute
  int64_t max_rpd = 0;  // requests in the 24 h that begin with the first of these requests

  bool unlimited() const { return max_rpm == 0 && max_tpm == 0 && max_rpd == 0; }
  bool operator==(const ModelQuota&) const = default;
};
// Returns an error if a limit is negative.
Status CheckQuota(std::string_view model, const ModelQuota& quota);
std::string Describe(const ModelQuota& quota);  // such as "500 requests/min, 30000 tokens/min, no limit a day"

inline constexpr Duration kMinute = std::chrono::minutes(1);
inline constexpr Duration kDay = std::chrono::hours(24);
// Stores keep the counter of a calendar day or month, unless it is 0, for at least this long after the end of the day
// or month, because the clock may step back, or the clock of another machine may be behind.
inline constexpr Duration kPeriodKept = std::chrono::hours(1);

// The current usage of a model. Amounts that are reserved count as used.
struct ModelUsage {
  int64_t rpm = 0;       // requests in the last minute
  int64_t tpm = 0;       // tokens in the last minute
  int64_t rpd = 0;       // requests of the present day (ModelQuota::max_rpd)
  WallTime day_start{};  // the start of the present day; the epoch if there is none
  int64_t open_reservations = 0;

  bool operator==(const ModelUsage&) const = default;
};

// The reason why a request is allowed or refused. The HTTP API, the metrics and the command line show the names that
// NameOf returns.
enum class QuotaCode : uint8_t {
  kOk,
  kUnlimited,         // the model's quota has no limit
  kUnknownModel,      // no quota of the model is known; QuotaConfig::unknown_models decides
  kInvalidTokens,     // a negative number of tokens
  kInvalidName,       // a malformed name, an idempotency key that is too long, or an unknown QoS class
  kRpdExceeded,       // the request would exceed the model's requests a day
  kRpmExceeded,       // the request would exceed the model's requests a minute
  kTpmExceeded,       // the request would exceed the model's tokens a minute
  kTierExceeded,      // the request would exceed a limit of a tier, which Decision::tier names
  kTooLarge,          // the request asks for more than a limit can ever allow
  kTooManyNames,      // no room for another name (naming_shares.h) or another open reservation
  kStoreUnavailable,  // the store did not answer; QuotaConfig::when_store_away decides
  kDenied,            // the configuration forbids the request, even if its limits would allow it
  kKeyReused,         // the idempotency key was used before with another number of tokens
};
inline constexpr size_t kQuotaCodes = 14;
std::string_view NameOf(QuotaCode code);  // "ok", "unlimited", "unknown_model", …

}  // namespace weir
