// Reads the JSON body of a call of the quota API (relay/limiters/openapi.json).
#pragma once

#include <optional>
#include <string_view>

#include "relay/limiters/quota/quota_call.h"
#include "relay/net/http_error.h"

namespace weir {

inline constexpr size_t kMaxCallBytes = 64 << 10;
// Reads `text` into `body`, which must be empty. Returns nullopt on success, else an error; `body` must not be used
// then. The error says which member is wrong or missing, which value was found and what was expected, or at which byte
// the text is not JSON. A text of more than kMaxCallBytes is not read; the error then has the code kBodyTooLong.
std::optional<ApiError> ReadQuotaCall(QuotaRoute::Call call, std::string_view text, QuotaCallBody* body);
// Checks a body that was read from a format other than JSON. Returns nullopt if the body is right. REQUIRES: `body` has
// only members that belong to this call.
std::optional<ApiError> CheckQuotaCall(QuotaRoute::Call call, const QuotaCallBody& body);

}  // namespace weir
