// QuotaCallBody: the body of a call of the quota API, read from JSON or from a gRPC message; and the functions that
// pass such a call to the limiter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "relay/limiters/quota/quota_api.h"
#include "relay/net/grpc/grpc_status.h"
#include "relay/observe/trace/span.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

// The members of the bodies of all calls; each call has some of them. A member that this body does not have is nullopt.
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

  // Returns the tokens of the call: prompt_tokens and output_tokens if at least one of them is set, else `tokens`. A
  // member that is not set counts as 0.
  TokenUse use() const;
};

// Passes a decide, reserve, record or explain to QuotaLimiter::Submit, which calls `done` once, before SubmitDecision
// returns or later, on any thread. `body` must have been checked (quota_call_reader.h). `address` is the client's
// address; the addresses of one client count as one (NetworkOf in relay/net/client_address.h). Ends `span`, which may
// be empty, when the answer comes.
void SubmitDecision(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body, std::string_view address,
                    std::function<void(Decision)> done, const Span& span = {});
// Does the same for a commit, refund or extend.
void SubmitSettlement(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body,
                      std::function<void(Settled)> done, const Span& span = {});

// Replaces the store's error message, if there is one, by a text that says only that the store does not answer
// (QuotaAudience::kStrangers).
void HideFromStrangers(Decision* decision);
void HideFromStrangers(Settled* settled);

// The answer to a commit, refund or extend with a code of Settled: the code's name, and the statuses.
struct SettledAnswer {
  std::string_view name;  // for example "unknown_reservation"
  int http_status;
  GrpcCode grpc_code;
};
const SettledAnswer& AnswerFor(Settled::Code code);

}  // namespace weir
