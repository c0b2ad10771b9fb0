// Reads the JSON body of a call of the quota API (relay/limiters/openapi.json), by a table of the keys of all bodies.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "relay/limiters/quota/quota_call.h"
#include "relay/net/http_error.h"

namespace weir {

// A key of the bodies. The messages of gRPC and the arguments of `weir quota` have the same bounds.
struct QuotaKey {
  using Text = std::optional<std::string> QuotaCallBody::*;
  using Whole = std::optional<int64_t> QuotaCallBody::*;
  using Flag = std::optional<bool> QuotaCallBody::*;
  using Member = std::variant<Text, Whole, Flag>;

  std::string_view name;
  Member member;
  unsigned calls;   // the calls whose bodies may have the key: bit n is the QuotaRoute::Call n
  int64_t min = 0;  // `min` and `max` are only for whole numbers
  int64_t max = kMostAmount;
  bool of_tokens = false;
  bool may_be_null = false;  // null counts as missing, because SDKs write null for missing fields

  bool IsOf(QuotaRoute::Call call) const { return ((calls >> static_cast<unsigned>(call)) & 1) != 0; }
};
const QuotaKey& KeyOf(QuotaKey::Member member);

inline constexpr size_t kMaxCallBytes = 64 << 10;
// Reads `text` into `body`, which must be empty. Returns nullopt on success, else an error; `body` must not be used
// then. The error says which member is wrong or missing, which value was found and what was expected, or at which byte
// the text is not JSON. A text of more than kMaxCallBytes is not read; the error then has the code kBodyTooLong.
std::optional<ApiError> ReadQuotaCall(QuotaRoute::Call call, std::string_view text, QuotaCallBody* body);
// Checks a body that was read from a format other than JSON. Returns nullopt if the body is right. REQUIRES: `body` has
// only members that belong to this call.
std::optional<ApiError> CheckQuotaCall(QuotaRoute::Call call, const QuotaCallBody& body);

}  // namespace weir
