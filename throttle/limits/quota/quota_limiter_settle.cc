// The functions of QuotaLimiter that settle reservations: commit, refund and extension.
#include <algorithm>
#include <array>
#include <utility>

#include "throttle/limits/quota/quota_limiter.h"
#include "throttle/limits/quota/quota_reasons.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

// 32 hex digits, '.', the round of up to 10 digits, '@', and the escaped model.
constexpr size_t kMaxReservationBytes = 32 + 11 + 1 + 3 * kMaxNameBytes;

}  // namespace

void QuotaLimiter::Observe(const Settlement& settlement, const Settled& settled) const {
  if (observer_ == nullptr) return;
  if (settlement.extend) return observer_->OnExtended(settled);
  observer_->OnSettled(settled, !settlement.tokens);
}

Settled QuotaLimiter::Conclude(const Settlement& settlement, SettlementAnswer& answer) const {
  static constexpr std::array<Settled::Code, 5> kCodes = {Settled::Code::kSettled, Settled::Code::kUnknownReservation,
                                                          Settled::Code::kStoreUnavailable,
                                                          Settled::Code::kSettledOtherwise, Settled::Code::kExpired};
  Settled settled{.code = kCodes[static_cast<size_t>(answer.code)],
                  .reason = ReasonOf(answer),
                  .model = std::move(answer.model),
                  .reserved_tokens = answer.reserved_tokens,
                  .actual_tokens = answer.actual_tokens,
                  .refunded = answer.refunded,
                  .late = answer.late,
                  .again = answer.again,
                  .time_left = answer.time_left};
  const bool is_priced = settlement.tokens && settled.ok() && settled.actual_tokens == *settlement.tokens;
  if (is_priced && PriceOf(settled.model)) settled.cost = settlement.money;
  if (settlement.extend && settled.ok()) settled.extended_to = std::max(*settlement.extend, answer.time_left);
  Observe(settlement, settled);
  return settled;
}

// Returns the answer if it does not depend on the store, else nothing.
std::optional<Settled> QuotaLimiter::RefuseSettlement(const Settlement& settlement) const {
  Settled refused;
  if (settlement.tokens && *settlement.tokens < 0) {
    refused.code = Settled::Code::kInvalidTokens;
    refused.reason =
        std::to_string(*settlement.tokens) + " tokens: they cannot be negative; the reservation stays open";
  } else if (settlement.reservation.empty() || settlement.reservation.size() > kMaxReservationBytes) {
    refused.code = Settled::Code::kUnknownReservation;
    refused.reason = "this is not the id of a reservation";
  } else {
    return std::nullopt;
  }
  Observe(settlement, refused);
  return refused;
}

Settlement QuotaLimiter::SettlementOf(std::string_view reservation, const std::optional<TokenUse>& use) const {
  Settlement settlement{.reservation = reservation};
  if (!use) return settlement;
  settlement.tokens = use->tokens;
  if (!HasPrices()) return settlement;
  const std::optional<ReservationId> id = ParseReservationId(reservation);
  const std::optional<ModelPrice> price = id ? PriceOf(id->model) : std::nullopt;
  if (price) settlement.money = CostOf(*price, *use);
  return settlement;
}

Settlement QuotaLimiter::Extension(std::string_view reservation, const std::optional<TokenUse>& use,
                                   std::optional<Duration> ttl) const {
  Settlement settlement = SettlementOf(reservation, use);
  settlement.extend = std::clamp(ttl.value_or(config()->reservation_ttl), kMinReservationTtl, kMaxReservationTtl);
  return settlement;
}

Settled QuotaLimiter::Settle(Settlement settlement) {
  if (std::optional<Settled> refused = RefuseSettlement(settlement)) return *std::move(refused);
  if (settlement.tokens) settlement.tokens = std::min(*settlement.tokens, kMostAmount);
  const TimePoint asked = Timed() ? clock_.Now() : TimePoint();
  SettlementAnswer answer = store_.Run(settlement);
  if (Timed()) observer_->OnStoreAnswer(clock_.Now() - asked, answer.code != SettlementAnswer::Code::kStoreUnavailable);
  return Conclude(settlement, answer);
}

Settled QuotaLimiter::Commit(std::string_view reservation, const TokenUse& use) {
  return Settle(SettlementOf(reservation, use));
}

Settled QuotaLimiter::CommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl) {
  return Settle(Extension(reservation, use, ttl));
}

Settled QuotaLimiter::Refund(std::string_view reservation) { return Settle(SettlementOf(reservation, {})); }

Settled QuotaLimiter::Extend(std::string_view reservation, std::optional<Duration> ttl) {
  return Settle(Extension(reservation, {}, ttl));
}

void QuotaLimiter::SubmitSettle(std::string_view reservation, const std::optional<TokenUse>& use,
                                std::function<void(Settled)> done) {
  SubmitSettle(SettlementOf(reservation, use), std::move(done));
}

void QuotaLimiter::SubmitCommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl,
                                     std::function<void(Settled)> done) {
  SubmitSettle(Extension(reservation, use, ttl), std::move(done));
}

void QuotaLimiter::SubmitExtend(std::string_view reservation, std::optional<Duration> ttl,
                                std::function<void(Settled)> done) {
  SubmitSettle(Extension(reservation, {}, ttl), std::move(done));
}

void QuotaLimiter::SubmitSettle(Settlement settlement, std::function<void(Settled)> done) {
  if (store_.pace() != QuotaStore::Pace::kAsynchronous) return done(Settle(settlement));
  if (std::optional<Settled> refused = RefuseSettlement(settlement)) return done(*std::move(refused));
  if (settlement.tokens) settlement.tokens = std::min(*settlement.tokens, kMostAmount);
  const TimePoint asked = Timed() ? clock_.Now() : TimePoint();
  Begin();
  Settlement concluded = settlement;
  concluded.reservation = {};  // the caller's text may not live until the answer comes
  store_.Submit(settlement, [this, concluded, asked, done = std::move(done)](SettlementAnswer answer) {
    const bool available = answer.code != SettlementAnswer::Code::kStoreUnavailable;
    if (Timed()) observer_->OnStoreAnswer(clock_.Now() - asked, available);
    done(Conclude(concluded, answer));
    End();
  });
}

}  // namespace weir
