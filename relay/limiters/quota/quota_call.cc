#include "relay/limiters/quota/quota_call.h"

#include <array>
#include <chrono>
#include <utility>

#include "relay/net/client_address.h"
#include "throttle/limits/quota/quota_reasons.h"

namespace weir {
namespace {

std::string_view View(const std::optional<std::string>& text) { return text ? std::string_view(*text) : ""; }

std::optional<Duration> TimeToLive(const QuotaCallBody& body) {
  if (!body.ttl_seconds) return std::nullopt;
  return std::chrono::seconds(*body.ttl_seconds);
}

QuotaObserver::Call Asked(QuotaRoute::Call call, const QuotaCallBody& body) {
  using enum QuotaRoute::Call;
  if (call == kReserve) return QuotaObserver::Call::kReserve;
  if (call == kRecord) return QuotaObserver::Call::kRecord;
  if (call == kExplain) return QuotaObserver::Call::kExplain;
  return body.charge.value_or(false) ? QuotaObserver::Call::kTake : QuotaObserver::Call::kDecide;
}

void EndSpan(Span span, std::string_view outcome, bool failed) {
  span.Set("weir.outcome", outcome);
  if (failed) span.Fail();
  span.End();
}

}  // namespace

TokenUse QuotaCallBody::use() const {
  if (prompt_tokens || output_tokens) return TokenUse::Of(prompt_tokens.value_or(0), output_tokens.value_or(0));
  return {.tokens = tokens.value_or(0)};
}

void SubmitDecision(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body, std::string_view address,
                    std::function<void(Decision)> done, const Span& span) {
  if (span) {
    span.Set("weir.tokens", body.use().tokens);
    done = [span, done = std::move(done)](Decision decision) {
      if (decision.tier) span.Set("weir.reason", NameOf(*decision.tier));
      EndSpan(span, NameOf(decision.code), decision.code == QuotaCode::kStoreUnavailable);
      done(std::move(decision));
    };
  }
  const std::string client = ClientNameOf(address);
  const QuotaRequest request{.model = View(body.model),
                             .tokens = body.use().tokens,
                             .requester = {.user = View(body.user),
                                           .tenant = View(body.tenant),
                                           .api_key = View(body.api_key),
                                           .instance = View(body.instance),
                                           .qos = View(body.qos),
                                           .address = client},
                             .reservation_ttl = TimeToLive(body),
                             .output_tokens = body.use().output,
                             .idempotency_key = View(body.idempotency_key),
                             .every_tier = true};
  limiter.Submit(Asked(call, body), request, std::move(done));
}

void SubmitSettlement(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body,
                      std::function<void(Settled)> done, const Span& span) {
  if (span) {
    done = [span, done = std::move(done)](Settled settled) {
      EndSpan(span, AnswerFor(settled.code).name, settled.code == Settled::Code::kStoreUnavailable);
      done(std::move(settled));
    };
  }
  if (call == QuotaRoute::Call::kExtend)
    return limiter.SubmitExtend(*body.reservation, TimeToLive(body), std::move(done));
  if (body.partial.value_or(false))
    return limiter.SubmitCommitSoFar(*body.reservation, body.use(), TimeToLive(body), std::move(done));
  const bool commits = call == QuotaRoute::Call::kCommit;
  limiter.SubmitSettle(*body.reservation, commits ? std::optional(body.use()) : std::nullopt, std::move(done));
}

void HideFromStrangers(Decision* decision) {
  if (decision->code == QuotaCode::kStoreUnavailable) decision->reason = StoreAwayReason({});
}
void HideFromStrangers(Settled* settled) {
  if (settled->code == Settled::Code::kStoreUnavailable) settled->reason = StoreAwayReason({});
}

const SettledAnswer& AnswerFor(Settled::Code code) {
  // The answers are in the order of Settled::Code.
  static constexpr std::array<SettledAnswer, 6> kAnswers = {{
      {"ok", 200, GrpcCode::kOk},
      {"unknown_reservation", 404, GrpcCode::kNotFound},
      {"invalid_tokens", 400, GrpcCode::kInvalidArgument},
      {"store_unavailable", 503, GrpcCode::kUnavailable},
      {"already_settled", 409, GrpcCode::kFailedPrecondition},
      {"reservation_expired", 409, GrpcCode::kFailedPrecondition},
  }};
  return kAnswers[static_cast<size_t>(code)];
}

}  // namespace weir
