// A call of the API as a value, whatever it was read from, and its way to the limiter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "relay/limiters/quota/quota_api.h"
#include "relay/trace/span.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// The values of all calls together; a value that was not named is empty.
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
  std::optional<bool> partial;
  std::optional<std::string> idempotency_key;

  // The tokens, or prompt and output together.
  TokenUse use() const;
};

// Submits decide, reserve, record or explain, with a body that was checked; `address` is the client's. `done` is called
// as Submit calls it. The span, which may be empty, ends with the answer.
void SubmitDecision(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body, std::string_view address,
                    std::function<void(Decision)> done, const Span& span = {});
// Submits commit, refund or extend.
void SubmitSettlement(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body,
                      std::function<void(Settled)> done, const Span& span = {});

// Takes out the store's own words: strangers are told only that the store is away.
void HideFromStrangers(Decision* decision);
void HideFromStrangers(Settled* settled);

// Returns the name of the span of these calls; empty for the others, which are not traced.
std::string_view SpanNameOf(QuotaRoute::Call call);

// "unknown_reservation", …
std::string_view NameOf(Settled::Code code);

}  // namespace weir
