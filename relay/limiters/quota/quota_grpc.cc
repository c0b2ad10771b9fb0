#include "relay/limiters/quota/quota_grpc.h"

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "relay/admin/other_site.h"
#include "relay/limiters/quota/quota_call_reader.h"
#include "relay/limiters/quota/quota_json.h"
#include "relay/net/grpc/grpc_service.h"
#include "weir/v1/quota.pb.h"

namespace weir {
namespace {

GrpcStatus StatusWith(GrpcCode code, std::string_view name, std::string_view message) {
  return {code, std::string(name).append(": ").append(message)};
}

// Moves the text to *to, unless it is empty: an empty text counts as missing.
void TakeText(std::string* from, std::optional<std::string>* to) {
  if (!from->empty()) *to = std::move(*from);
}

// Makes the body for a message of any method, from the fields that the message's type has.
template <typename Request>
QuotaCallBody BodyOf(Request& m) {
  QuotaCallBody body;
  if constexpr (requires { m.model(); }) {
    TakeText(m.mutable_model(), &body.model);
    TakeText(m.mutable_user(), &body.user);
    TakeText(m.mutable_tenant(), &body.tenant);
    TakeText(m.mutable_api_key(), &body.api_key);
    TakeText(m.mutable_instance(), &body.instance);
    TakeText(m.mutable_qos(), &body.qos);
  }
  if constexpr (requires { m.reservation(); }) TakeText(m.mutable_reservation(), &body.reservation);
  if constexpr (requires { m.tokens(); }) {
    if (m.has_tokens()) body.tokens = m.tokens();
    if (m.has_prompt_tokens()) body.prompt_tokens = m.prompt_tokens();
    if (m.has_output_tokens()) body.output_tokens = m.output_tokens();
  }
  if constexpr (requires { m.ttl_seconds(); })
    if (m.has_ttl_seconds()) body.ttl_seconds = m.ttl_seconds();
  if constexpr (requires { m.idempotency_key(); }) TakeText(m.mutable_idempotency_key(), &body.idempotency_key);
  if constexpr (requires { m.partial(); }) body.partial = m.partial();
  if constexpr (requires { m.charge(); }) body.charge = m.charge();
  return body;
}

void Fill(const ModelQuota& quota, v1::ModelQuota* m) {
  m->set_max_rpm(quota.max_rpm);
  m->set_max_tpm(quota.max_tpm);
  m->set_max_rpd(quota.max_rpd);
}

void Fill(const ModelUsage& usage, v1::ModelUsage* m) {
  m->set_rpm(usage.rpm);
  m->set_tpm(usage.tpm);
  m->set_rpd(usage.rpd);
  m->set_day_start_ms(std::chrono::floor<std::chrono::milliseconds>(usage.day_start).time_since_epoch().count());
  m->set_open_reservations(usage.open_reservations);
}

void Fill(const TierState& state, v1::TierState* m) {
  m->set_tier(std::string(NameOf(state.tier)));
  m->set_key(Shareable(state.key));
  m->set_unit(std::string(NameOf(state.limit.unit)));
  m->set_amount(state.limit.amount);
  if (IsOfCalendar(state.limit)) {
    m->set_per(std::string(PeriodOf(state.limit)));
    m->set_ends_ms(std::chrono::floor<std::chrono::milliseconds>(EndOfPeriod(state.limit)).time_since_epoch().count());
  } else if (state.limit.unit != Limit::Unit::kCalls) {
    m->set_per_seconds(ToSeconds(state.limit.per));
  }
  if (state.limit.kind == Limit::Kind::kBucket) m->set_burst(state.limit.burst);
  m->set_used(state.used);
  m->set_remaining(state.remaining);
}

v1::Decision MessageOf(const Decision& decision, const std::string& model, int64_t tokens) {
  v1::Decision m;
  m.set_allowed(decision.allowed);
  m.set_code(std::string(NameOf(decision.code)));
  m.set_reason(decision.reason);
  m.set_shadowed(decision.shadowed);
  m.set_model(model);
  m.set_counted_as(decision.counted_as);
  m.set_tokens(tokens);
  if (decision.retry_after) m.set_retry_after_seconds(ToSeconds(*decision.retry_after));
  if (decision.tier) m.set_tier(std::string(NameOf(*decision.tier)));
  if (decision.priority) m.set_priority(*decision.priority);
  m.set_reservation(decision.reservation);
  if (decision.cost) m.set_cost_millionths(*decision.cost);
  m.set_again(decision.again);
  if (decision.quota) Fill(*decision.quota, m.mutable_quota());
  Fill(decision.usage, m.mutable_usage());
  for (const TierState& state : decision.tiers) Fill(state, m.add_tiers());
  return m;
}

// Returns the gRPC status of a decision. An explanation succeeds even if the store does not answer.
GrpcStatus StatusOf(const Decision& decision, bool explains) {
  using enum QuotaCode;
  if (decision.code == kInvalidTokens || decision.code == kInvalidName || decision.code == kKeyReused)
    return StatusWith(GrpcCode::kInvalidArgument, NameOf(decision.code), decision.reason);
  if (decision.code == QuotaCode::kStoreUnavailable && !decision.allowed && !explains)
    return StatusWith(GrpcCode::kUnavailable, NameOf(decision.code), decision.reason);
  return {};
}

GrpcStatus StatusOf(const Settled& settled) {
  if (settled.ok()) return {};
  const SettledAnswer& answer = AnswerFor(settled.code);
  return StatusWith(answer.grpc_code, answer.name, settled.reason);
}

template <typename Message>
Message MessageOf(const Settled& settled) {
  Message m;
  m.set_model(settled.model);
  m.set_reserved_tokens(settled.reserved_tokens);
  m.set_ttl_seconds(ToSeconds(settled.extended_to));
  if constexpr (std::same_as<Message, v1::Settlement>) {
    m.set_actual_tokens(settled.actual_tokens);
    m.set_late(settled.late);
    if (settled.cost) m.set_cost_millionths(*settled.cost);
  }
  return m;
}

HttpResponse BusyAsGrpc(const std::string& message) {
  return GrpcError(StatusWith(GrpcCode::kUnavailable, NameOf(QuotaCode::kStoreUnavailable), message));
}

// Passes one call to the limiter, and its answer to the client.
template <typename Response>
void Make(QuotaLimiter& limiter, QuotaRoute::Call call, const QuotaCallBody& body, const std::string& address,
          HttpReply http, std::shared_ptr<void> under_way, const Span& span) {
  const GrpcReply<Response> reply(std::move(http));
  if constexpr (std::same_as<Response, v1::Decision>) {
    SubmitDecision(
        limiter, call, body, address,
        [reply, explains = call == QuotaRoute::Call::kExplain, model = *body.model, tokens = body.use().tokens,
         under_way = std::move(under_way)](Decision decision) {
          HideFromStrangers(&decision);
          const GrpcStatus status = StatusOf(decision, explains);
          if (!status.ok()) return reply(status);
          reply(MessageOf(decision, model, tokens));
        },
        span);
  } else {
    SubmitSettlement(
        limiter, call, body,
        [reply, under_way = std::move(under_way)](Settled settled) {
          HideFromStrangers(&settled);
          const GrpcStatus status = StatusOf(settled);
          if (!status.ok()) return reply(status);
          reply(MessageOf<Response>(settled));
        },
        span);
  }
}

class Methods {
 public:
  Methods(HttpRouter& router, ServedLimiter::Refusal refusal, QuotaService& service)
      : grpc_(router, kQuotaGrpcService), refusal_(std::move(refusal)), service_(service) {}

  template <typename Request, typename Response>
  void Add(std::string_view name, QuotaRoute::Call quota_call) {
    grpc_.AddUnary<Request, Response>(name, HandlerOf<Request, Response>(quota_call));
  }
  template <typename Request>
  void AddWatch(std::string_view name, const GrpcWatchPace& pace, QuotaRoute::Call quota_call) {
    const auto clear_passing = [](v1::Decision* decision) {
      decision->clear_retry_after_seconds();
      decision->clear_reason();
    };
    grpc_.AddWatch<Request, v1::Decision>(name, pace, clear_passing, HandlerOf<Request, v1::Decision>(quota_call));
  }

 private:
  template <typename Request, typename Response>
  GrpcService::Unary<Request, Response> HandlerOf(QuotaRoute::Call quota_call) const {
    return [refusal = refusal_, &service = service_, quota_call](const GrpcCall& call, Request& message,
                                                                 const GrpcReply<Response>& reply) {
      if (IsChangeByAnotherSite(call.http)) return reply(GrpcStatus{GrpcCode::kPermissionDenied, kOfAnotherSite});
      if (refusal)
        if (auto refused = refusal(call.http)) return reply.http()(PlainErrorAsGrpc(*std::move(refused), call.http));
      QuotaCallBody body = BodyOf(message);
      if (const auto error = CheckQuotaCall(quota_call, body))
        return reply(StatusWith(GrpcCode::kInvalidArgument, error->code, error->message));
      service.Perform(quota_call, call.http, reply.http(), BusyAsGrpc,
                      [quota_call, body = std::move(body), address = call.http.address, deadline = call.deadline](
                          QuotaLimiter& limiter, HttpReply http, std::shared_ptr<void> under_way, const Span& span) {
                        // The client no longer waits for the answer, so quota must not be charged for it.
                        if (deadline && Clock::System().Now() > *deadline)
                          return http(GrpcError({GrpcCode::kDeadlineExceeded, "the deadline has passed"}));
                        Make<Response>(limiter, quota_call, body, address, std::move(http), std::move(under_way), span);
                      });
    };
  }

  GrpcService grpc_;
  const ServedLimiter::Refusal refusal_;
  QuotaService& service_;
};

}  // namespace

void AddQuotaGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, QuotaService& service,
                  const GrpcWatchPace& pace) {
  using enum QuotaRoute::Call;
  Methods methods(router, refusal, service);
  methods.Add<v1::DecideRequest, v1::Decision>("Decide", kDecide);
  methods.Add<v1::ReserveRequest, v1::Decision>("Reserve", kReserve);
  methods.Add<v1::CommitRequest, v1::Settlement>("Commit", kCommit);
  methods.Add<v1::RefundRequest, v1::Settlement>("Refund", kRefund);
  methods.Add<v1::ExtendRequest, v1::Extension>("Extend", kExtend);
  methods.Add<v1::RecordRequest, v1::Decision>("Record", kRecord);
  methods.Add<v1::ExplainRequest, v1::Decision>("Explain", kExplain);
  methods.AddWatch<v1::WatchRequest>("Watch", pace, kExplain);
}

}  // namespace weir
