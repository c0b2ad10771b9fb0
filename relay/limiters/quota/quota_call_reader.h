// Reads the JSON body of a call of the quota API (relay/limiters/openapi.json).
#pragma once

#include <optional>
#include <string_view>

#include "relay/limiters/quota/quota_call.h"
#include "relay/server/http_error.h"

namespace weir {

inline constexpr size_t kMaxCallBytes = 64 << 10;
// Reads `text` into `body`, which must be empty. Returns nullopt on success. The error says which key is wrong, which
// value was found and what was expected, or at which byte the text is no JSON. A text of more than kMaxCallBytes is not
// read (kBodyTooLong).
std::optional<ApiError> ReadQuotaCall(QuotaRoute::Call call, std::string_view text, QuotaCallBody* body);
// Checks a body that was read from another format. The body must have no values that are not for this call. Returns
// nullopt if the body is right.
std::optional<ApiError> CheckQuotaCall(QuotaRoute::Call call, const QuotaCallBody& body);

}  // namespace weir
