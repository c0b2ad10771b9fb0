// QuotaCallBody: the body of a call of the quota API as a value, read from JSON or gRPC; and the functions that pass
// such a call to the limiter.
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

// The values that any call may have. A value that this call does not have is nullopt.
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

  // Returns prompt_tokens and output_tokens together if at least one is set, else tokens; 0 if none is set.
  TokenUse use() const;
};

// Passes a decide, reserve, record or explain to QuotaLimiter::Submit, which calls `done` once, on any thread, perhaps
// before this returns. `body` must have been checked (quota_call_reader.h). `address` is that of the client. `span` may
// be empty; it ends with the answer.
void SubmitDecision(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body, std::string_view address,
                    std::function<void(Decision)> done, const Span& span = {});
// Does the same for a commit, refund or extend.
void SubmitSettlement(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body,
                      std::function<void(Settled)> done, const Span& span = {});

// Hides the store's error message: says only that the store does not answer (QuotaAudience::kStrangers).
void HideFromStrangers(Decision* decision);
void HideFromStrangers(Settled* settled);

// Returns the name of the span for a call; empty for calls that are not traced.
std::string_view SpanNameOf(QuotaRoute::Call call);

// Returns the code in JSON: "unknown_reservation", …
std::string_view NameOf(Settled::Code code);

}  // namespace weir
