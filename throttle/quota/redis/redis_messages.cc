#include "throttle/quota/redis/redis_messages.h"

#include <algorithm>
#include <charconv>

#include "throttle/quota/redis/redis_numbers.h"
#include "throttle/quota/redis/redis_script.h"
#include "throttle/quota/reservation_id.h"

namespace weir {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr double kKeysOfModel = 4;
constexpr size_t kChargeNumbers = 17;  // before those of the tiers
constexpr size_t kSettlementNumbers = 5;
constexpr size_t kStatedNumbers = 3;

double MicrosOf(Duration duration) {
  return static_cast<double>(std::chrono::ceil<std::chrono::microseconds>(duration).count());
}

int64_t CutDown(int64_t amount) { return std::clamp<int64_t>(amount, 0, kMostAmount); }

void AppendQuota(const ModelQuota& quota, std::string* to) {
  for (const int64_t limit : {quota.max_rpm, quota.max_tpm, quota.max_rpd}) AppendRedisNumber(CutDown(limit), to);
}

// The earlier of two limits with one count, from 1; 0: there is none.
size_t SameAs(std::span<const TierCharge> tiers, size_t tier) {
  const TierCharge& one = tiers[tier];
  for (size_t i = 0; i < tier; ++i) {
    const TierCharge& other = tiers[i];
    const bool same = other.key == one.key && other.limit.unit == one.limit.unit &&
                      other.limit.kind == one.limit.kind && other.limit.per == one.limit.per;
    if (same) return i + 1;
  }
  return 0;
}

void AppendTier(std::span<const TierCharge> tiers, size_t tier, std::string* to) {
  const Limit& limit = tiers[tier].limit;
  const int64_t amount = std::clamp<int64_t>(limit.amount, 1, kMostAmount);
  AppendRedisNumber(limit.unit == Limit::Unit::kTokens ? 1.0 : 0.0, to);
  AppendRedisNumber(limit.kind == Limit::Kind::kBucket ? 1.0 : 0.0, to);
  AppendRedisNumber(amount, to);
  AppendRedisNumber(MicrosOf(limit.per), to);
  AppendRedisNumber(std::clamp(limit.burst, amount, kMostAmount), to);
  AppendRedisNumber(static_cast<double>(SameAs(tiers, tier)), to);
}

// Of a key that ends with a MeterName: whether it is a bucket, and its window.
void AppendMeter(std::string_view key, std::string* to) {
  const std::string_view meter = key.substr(key.rfind(':') + 1);
  const size_t digits = std::min(meter.find_first_of("0123456789"), meter.size());
  int64_t millis = 0;
  std::from_chars(meter.data() + digits, meter.data() + meter.size(), millis);
  AppendRedisNumber(meter.find('b') != std::string_view::npos ? 1.0 : 0.0, to);
  AppendRedisNumber(1000 * static_cast<double>(std::max<int64_t>(1, millis)), to);
}

std::string LoadCommand(std::string_view script) { return FormatRedisCommand({"SCRIPT", "LOAD", script}); }

}  // namespace

RedisMessages::RedisMessages(const RedisStoreOptions& options)
    : prefix_(EscapeName(options.prefix) + ":{"),
      clock_(options.clock),
      max_keys_(kKeysOfModel * static_cast<double>(options.max_models) + static_cast<double>(options.max_tier_keys)),
      charge_sha_(RedisScriptSha(RedisChargeScript())),
      settle_sha_(RedisScriptSha(RedisSettleScript())),
      reset_sha_(RedisScriptSha(RedisResetScript())),
      tiers_sha_(RedisScriptSha(RedisTiersScript())),
      probe_sha_(RedisScriptSha(RedisProbeScript())) {}

// --- What the store says

RedisMessages::Command RedisMessages::FormatCharge(const Charge& charge, std::string_view reservation) const {
  const ModelQuota quota = charge.default_quota.value_or(ModelQuota());
  std::string numbers;
  AppendRedisNumber(NowNumber(), &numbers);
  AppendRedisNumber(static_cast<double>(charge.mode), &numbers);
  AppendRedisNumber(CutDown(charge.requests), &numbers);
  AppendRedisNumber(CutDown(charge.tokens), &numbers);
  AppendRedisNumber(charge.default_quota ? 1.0 : 0.0, &numbers);
  AppendQuota(quota, &numbers);
  AppendRedisNumber(charge.refuse_unknown ? 1.0 : 0.0, &numbers);
  AppendRedisNumber(MicrosOf(charge.hold_for), &numbers);
  AppendRedisNumber(static_cast<double>(std::min(charge.tiers_before_model, charge.tiers.size())), &numbers);
  AppendRedisNumber(max_keys_, &numbers);

  const std::array<std::string, 4> keys = KeysOf(charge.model);
  std::vector<std::string> tier_keys;
  tier_keys.reserve(charge.tiers.size());
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    AppendTier(charge.tiers, i, &numbers);
    const TierCharge& tier = charge.tiers[i];
    tier_keys.push_back(KeyOf(charge.model, 't') + ':' + std::string(tier.key) + ':' + MeterName(tier.limit));
  }
  const std::string count = std::to_string(keys.size() + tier_keys.size());
  std::vector<std::string_view> words = {"EVALSHA", charge_sha_, count, keys[0], keys[1], keys[2], keys[3]};
  words.insert(words.end(), tier_keys.begin(), tier_keys.end());
  words.push_back(reservation.substr(0, kTokenBytes));
  words.push_back(numbers);
  return {.text = FormatRedisCommand(words), .slot = RedisSlot(keys[0])};
}

std::optional<RedisMessages::Command> RedisMessages::FormatSettlement(const Settlement& settlement) const {
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  if (!id) return {};
  std::string numbers;
  AppendRedisNumber(NowNumber(), &numbers);
  AppendRedisNumber(settlement.tokens ? 0.0 : 1.0, &numbers);
  AppendRedisNumber(CutDown(settlement.tokens.value_or(0)), &numbers);
  const std::array<std::string, 4> keys = KeysOf(id->model);
  return Command{.text = FormatRedisCommand({"EVALSHA", settle_sha_, "4", keys[0], keys[1], keys[2], keys[3],
                                             settlement.reservation.substr(0, kTokenBytes), numbers}),
                 .slot = RedisSlot(keys[0])};
}

RedisMessages::Command RedisMessages::FormatChange(std::string_view model, std::string_view quota, std::string_view log,
                                                   std::string_view ttl) const {
  const std::array<std::string, 4> keys = KeysOf(model);
  return {.text = FormatRedisCommand({"EVALSHA", reset_sha_, "4", keys[0], keys[1], keys[2], keys[3], quota, log, ttl}),
          .slot = RedisSlot(keys[0])};
}

RedisMessages::Command RedisMessages::FormatSetQuota(std::string_view model,
                                                     const std::optional<ModelQuota>& quota) const {
  std::string numbers = "none";
  if (quota) {
    numbers.clear();
    AppendQuota(*quota, &numbers);
  }
  return FormatChange(model, numbers, "counts", "0");
}

RedisMessages::Command RedisMessages::FormatReset(std::string_view model) const {
  return FormatChange(model, "keep", "", "0");
}

RedisMessages::Command RedisMessages::FormatRestore(std::string_view model, const ModelState& state,
                                                    WallTime now) const {
  static constexpr Duration kSlack = std::chrono::minutes(2);
  std::string numbers = "none";
  if (state.quota) {
    numbers.clear();
    AppendQuota(*state.quota, &numbers);
  }
  const std::string log = WriteRedisModel(state, now);
  const auto ttl = std::chrono::ceil<std::chrono::milliseconds>(kDay + kSlack);
  return FormatChange(model, numbers, log, std::to_string(ttl.count()));
}

RedisMessages::Command RedisMessages::FormatRead(std::string_view model) const {
  const std::array<std::string, 4> keys = KeysOf(model);
  return {.text = FormatRedisCommand({"MGET", keys[0], keys[1]}), .slot = RedisSlot(keys[0])};
}

RedisMessages::Command RedisMessages::FormatTiersCount(std::string_view model,
                                                       std::span<const std::string> keys) const {
  const std::array<std::string, 4> of_model = KeysOf(model);
  const std::string count = std::to_string(of_model.size() + keys.size());
  std::vector<std::string_view> words = {"EVALSHA",   tiers_sha_,  count,      of_model[0],
                                         of_model[1], of_model[2], of_model[3]};
  std::string numbers;
  AppendRedisNumber(NowNumber(), &numbers);
  for (const std::string& key : keys) {
    words.push_back(key);
    AppendMeter(key, &numbers);
  }
  words.push_back(numbers);
  return {.text = FormatRedisCommand(words), .slot = RedisSlot(of_model[0])};
}

std::string RedisMessages::FormatProbe() const { return FormatRedisCommand({"EVALSHA", probe_sha_, "0"}); }

std::string RedisMessages::FormatScan(std::string_view cursor) const {
  std::string pattern;
  for (const char c : prefix_) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  pattern += '*';
  return FormatRedisCommand({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
}

std::vector<std::string> RedisMessages::LoadScripts() const {
  return {LoadCommand(RedisChargeScript()), LoadCommand(RedisSettleScript()), LoadCommand(RedisResetScript()),
          LoadCommand(RedisTiersScript()), LoadCommand(RedisProbeScript())};
}

// --- What the scripts answer

std::optional<RedisMessages::Charged> RedisMessages::ParseCharge(const redisReply& reply, size_t tiers,
                                                                 std::string_view reservation) {
  const std::string_view numbers = reply.type == REDIS_REPLY_STRING ? TextOf(reply) : std::string_view();
  if (numbers.size() != (kChargeNumbers + tiers) * kRedisNumberBytes) return {};
  const auto at = [numbers](size_t place) { return RedisIntegerAt(numbers, place); };
  static constexpr auto kLongest = std::chrono::floor<std::chrono::microseconds>(Duration::max());
  Charged charged{
      .now = FromRedisTime(at(0)), .expired = static_cast<uint64_t>(at(15)), .dropped = static_cast<uint64_t>(at(16))};
  ChargeAnswer& answer = charged.answer;
  answer.code = static_cast<QuotaCode>(at(1));
  if (at(2) >= 0) answer.tier = static_cast<size_t>(at(2));
  answer.unit = static_cast<Limit::Unit>(at(3));
  if (at(4) >= 0) answer.retry_after = std::min(kLongest, std::chrono::microseconds(at(4)));
  if (at(5) == 1) answer.quota = ModelQuota{.max_rpm = at(6), .max_tpm = at(7), .max_rpd = at(8)};
  answer.usage = {
      .rpm = at(9),
      .tpm = at(10),
      .rpd = at(11),
      .day_start = FromRedisTime(at(12)),
      .open_reservations = at(13),
  };
  for (size_t i = 0; i < tiers; ++i) answer.tiers.push_back({.used = at(kChargeNumbers + i)});
  answer.charged = at(14) == 1;
  if (answer.charged) answer.reservation = reservation;
  return charged;
}

std::optional<RedisMessages::Settled> RedisMessages::ParseSettlement(const redisReply& reply, std::string_view model) {
  const std::string_view numbers = reply.type == REDIS_REPLY_STRING ? TextOf(reply) : std::string_view();
  if (numbers.size() != kSettlementNumbers * kRedisNumberBytes) return {};
  Settled settled{.expired = static_cast<uint64_t>(RedisIntegerAt(numbers, 3))};
  if (RedisIntegerAt(numbers, 0) == 0) {
    settled.answer.code = SettlementAnswer::Code::kUnknown;
    return settled;
  }
  settled.answer.model = model;
  settled.answer.reserved_tokens = RedisIntegerAt(numbers, 1);
  settled.answer.actual_tokens = RedisIntegerAt(numbers, 2);
  settled.answer.time_left = std::chrono::microseconds(RedisIntegerAt(numbers, 4));
  return settled;
}

std::optional<ModelState> RedisMessages::ParseState(const redisReply& reply, WallTime now) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 2) return {};
  const auto text_at = [&reply](size_t place) {
    const redisReply& one = *reply.element[place];
    return one.type == REDIS_REPLY_STRING ? TextOf(one) : std::string_view();
  };
  ModelState state = ReadRedisModel(text_at(1), now);
  const std::string_view stated = text_at(0);
  if (stated.size() == kStatedNumbers * kRedisNumberBytes) {
    state.quota = ModelQuota{.max_rpm = RedisIntegerAt(stated, 0),
                             .max_tpm = RedisIntegerAt(stated, 1),
                             .max_rpd = RedisIntegerAt(stated, 2)};
  }
  return state == ModelState() ? std::optional<ModelState>() : state;
}

std::optional<std::string> RedisMessages::ModelOf(std::string_view key) const {
  if (!key.starts_with(prefix_)) return {};
  key.remove_prefix(prefix_.size());
  const size_t end = key.find('}');
  if (end == std::string_view::npos) return {};
  return UnescapeName(key.substr(0, end));
}

std::array<std::string, 4> RedisMessages::KeysOf(std::string_view model) const {
  return {KeyOf(model, 'q'), KeyOf(model, 'm'), KeyOf(model, 'r'), KeyOf(model, 'd')};
}

std::string RedisMessages::KeyOf(std::string_view model, char kind) const {
  return prefix_ + EscapeName(model) + "}:" + kind;
}

double RedisMessages::NowNumber() const { return clock_ ? static_cast<double>(ToRedisTime(clock_->Now())) : -1; }

}  // namespace weir
