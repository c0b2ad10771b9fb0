// The words of the quota limiter: what a model may use, what it has used, and why a request was refused.
//
// Times are of the day (WallTime), for the windows outlive the process. Amounts are 0..kMostAmount everywhere; more is
// cut down to it, which can only refuse more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

// A quadrillion: far more than anybody sells, exact in JSON and in Lua, and thousands of it fit into 64 bits.
inline constexpr int64_t kMostAmount = 1'000'000'000'000'000;

// Of two amounts.
inline int64_t AddAmounts(int64_t a, int64_t b) { return std::min(kMostAmount, a + b); }

// Names of models, users, tenants, keys and instances: 1 to 256 bytes, valid UTF-8, no control characters. Everything
// else may be in them; whoever builds keys of names escapes (EscapeName).
inline constexpr size_t kMaxNameBytes = 256;
// The error says what is wrong with the `what` ("model"), not the whole name.
Status CheckName(std::string_view what, std::string_view name);
// With % and hex for '%', ':', '{', '}' and '@', so that names joined by ':' stay apart; and back.
std::string EscapeName(std::string_view name);
std::string UnescapeName(std::string_view escaped);

// 0 is unlimited; never negative in a quota that was checked.
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
// After its end the count of a calendar day or month is kept: the clock may step back, or another machine's be behind.
inline constexpr Duration kPeriodKept = std::chrono::hours(1);

// What counts at this moment; what is reserved counts as used.
struct ModelUsage {
  int64_t rpm = 0;
  int64_t tpm = 0;
  int64_t rpd = 0;
  WallTime day_start{};  // of the day that counts; the epoch where none has begun
  int64_t open_reservations = 0;

  bool operator==(const ModelUsage&) const = default;
};

// Why a request may go or may not. The texts of NameOf are those of the HTTP face, the metrics and the command line.
enum class QuotaCode : uint8_t {
  kOk,
  kUnlimited,      // nothing limits this model
  kUnknownModel,   // no quota is known for it; whether it may go is the policy
  kInvalidTokens,  // negative
  kInvalidName,    // of the model, user, …, or a QoS class that there is not
  kRpdExceeded,
  kRpmExceeded,
  kTpmExceeded,
  kTierExceeded,      // a tier's limit: Decision::tier says which
  kTooLarge,          // can never fit, whatever the time
  kTooManyNames,      // the store holds all the names, or the model all the open reservations, that it may
  kStoreUnavailable,  // the store did not answer; whether the request may go is the policy
  kDenied,            // the configuration forbids it, whatever is left
  kKeyReused,         // its idempotency key came with another request before
};
inline constexpr size_t kQuotaCodes = 14;
std::string_view NameOf(QuotaCode code);  // "ok", "unlimited", "unknown_model", …

}  // namespace weir
