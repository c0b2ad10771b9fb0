// Reads the body of a call of the API (relay/limiters/openapi.json).
#pragma once

#include <optional>
#include <string_view>

#include "relay/limiters/quota/quota_call.h"
#include "relay/server/http_error.h"

namespace weir {

// The error says which key is wrong, what is there, and what was expected; or the byte at which it is no JSON. Bodies
// of more than kMaxCallBytes are not looked at (kBodyTooLong).
inline constexpr size_t kMaxCallBytes = 64 << 10;
std::optional<ApiError> ReadQuotaCall(QuotaRoute::Call call, std::string_view text, QuotaCallBody* body);
// Checks a body that was read from another form, and has no other keys than those of the call.
std::optional<ApiError> CheckQuotaCall(QuotaRoute::Call call, const QuotaCallBody& body);

}  // namespace weir
