#include "throttle/limits/quota/redis/redis_messages.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "config/wire/redis/redis_lua.h"
#include "throttle/limits/quota/redis/redis_numbers.h"
#include "throttle/limits/quota/redis/redis_script.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kChargeNumbers = 23;  // numbers before those of the tiers; the round comes after these
constexpr size_t kSettlementNumbers = 9;
constexpr size_t kStatedNumbers = 3;

double MicrosOf(Duration duration) {
  return static_cast<double>(std::chrono::ceil<std::chrono::microseconds>(duration).count());
}

int64_t CutDown(int64_t amount) { return std::clamp<int64_t>(amount, 0, kMostAmount); }

void AppendQuota(const ModelQuota& quota, std::string* to) {
  for (const int64_t limit : {quota.max_rpm, quota.max_tpm, quota.max_rpd}) AppendRedisNumber(CutDown(limit), to);
}

// Returns the position, counted from 1, of an earlier limit with the same counter; 0 if there is none.
size_t SameAs(std::span<const TierCharge> tiers, size_t tier) {
  const TierCharge& one = tiers[tier];
  for (size_t i = 0; i < tier; ++i) {
    const TierCharge& other = tiers[i];
    const bool same = other.key == one.key && other.of_all_models == one.of_all_models &&
                      other.limit.unit == one.limit.unit && other.limit.kind == one.limit.kind &&
                      other.limit.per == one.limit.per;
    if (same) return i + 1;
  }
  return 0;
}

void AppendTier(std::span<const TierCharge> tiers, size_t tier, std::string* to) {
  const Limit& limit = tiers[tier].limit;
  const int64_t amount = std::clamp<int64_t>(limit.amount, 1, kMostAmount);
  AppendRedisNumber(static_cast<double>(limit.unit), to);
  AppendRedisNumber(limit.kind == Limit::Kind::kBucket ? 1.0 : 0.0, to);
  AppendRedisNumber(amount, to);
  AppendRedisNumber(MicrosOf(limit.per), to);
  AppendRedisNumber(std::clamp(limit.burst, amount, kMostAmount), to);
  AppendRedisNumber(static_cast<double>(SameAs(tiers, tier)), to);
}

// Returns true if a number in a reply is a valid enumerator. Other code looks up a name by it, so it must be checked.
template <typename Enum>
bool IsOneOf(int64_t number, Enum last) {
  return number >= 0 && number <= static_cast<int64_t>(last);
}

// kRedisStatedByConfiguration, written as the score of a sorted set.
constexpr std::string_view kByConfiguration = "1e17";

}  // namespace

RedisMessages::RedisMessages(const RedisStoreOptions& options, bool by_slot)
    : names_(EscapeName(options.prefix) + ':'),
      prefix_(names_ + '{'),
      clock_(options.clock),
      max_models_(static_cast<double>(options.max_models)),
      max_tier_keys_(static_cast<double>(options.max_tier_keys)),
      max_named_ended_(static_cast<double>(options.max_named_ended)),
      by_slot_(by_slot),
      charge_sha_(RedisScriptSha(RedisChargeScript())),
      settle_sha_(RedisScriptSha(RedisSettleScript())),
      give_back_sha_(RedisScriptSha(RedisGiveBackScript())),
      reset_sha_(RedisScriptSha(RedisResetScript())) {}

// --- Messages to the scripts

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
  AppendRedisNumber(max_models_, &numbers);
  AppendRedisNumber(max_tier_keys_, &numbers);
  AppendRedisNumber(charge.may_name ? 1.0 : 0.0, &numbers);
  AppendRedisNumber(CutDown(charge.money), &numbers);
  AppendRedisNumber(charge.holds() && charge.token ? 1.0 : 0.0, &numbers);
  AppendRedisNumber(charge.is_call ? CutDown(charge.requests) : 0, &numbers);
  AppendRedisNumber(std::ranges::any_of(charge.tiers, &TierCharge::of_all_models) ? 1.0 : 0.0, &numbers);
  AppendRedisNumber(max_named_ended_, &numbers);

  const Keys keys = KeysOf(charge.model);
  std::vector<std::string> tier_keys;
  tier_keys.reserve(charge.tiers.size());
  for (size_t i = 0; i < charge.tiers.size(); ++i) {
    AppendTier(charge.tiers, i, &numbers);
    const TierCharge& tier = charge.tiers[i];
    tier_keys.push_back(KeyOf(tier.of_all_models ? std::string_view() : charge.model, 't') + ':' +
                        std::string(tier.key) + ':' + MeterName(tier.limit));
  }
  const std::string count = std::to_string(keys.size() + tier_keys.size());
  std::vector<std::string_view> words = {"EVALSHA", charge_sha_, count};
  words.insert(words.end(), keys.begin(), keys.begin() + kKeysOfModel);
  words.insert(words.end(), tier_keys.begin(), tier_keys.end());
  words.insert(words.end(), keys.begin() + kKeysOfModel, keys.end());
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
  AppendRedisNumber(settlement.extend ? MicrosOf(*settlement.extend) : 0.0, &numbers);
  AppendRedisNumber(settlement.tokens ? CutDown(settlement.money) : 0, &numbers);
  AppendRedisNumber(max_named_ended_, &numbers);
  AppendRedisNumber(static_cast<double>(id->round), &numbers);
  const Keys keys = KeysOf(id->model);
  std::vector<std::string_view> words = {"EVALSHA", settle_sha_, "8"};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), {settlement.reservation.substr(0, kTokenBytes), numbers});
  return Command{.text = FormatRedisCommand(words), .slot = RedisSlot(keys[0])};
}

// The command has the arguments of the take, but another script, and three more arguments.
RedisMessages::Command RedisMessages::FormatGiveBack(const Command& take, std::string_view answer,
                                                     std::string_view id) const {
  std::string now;
  AppendRedisNumber(NowNumber(), &now);
  const std::string more = FormatRedisCommand({now, id.substr(0, kTokenBytes), answer});
  const size_t words = take.text.find('\r');  // "*<count>\r\n$7\r\nEVALSHA\r\n$40\r\n…"
  std::string text = "*" + std::to_string(std::atoi(take.text.c_str() + 1) + 3) + take.text.substr(words);
  text.replace(text.find(charge_sha_), charge_sha_.size(), give_back_sha_);
  return {.text = text + more.substr(more.find('$')), .slot = take.slot};
}

RedisMessages::Command RedisMessages::FormatChange(std::string_view model, std::string_view quota, std::string_view log,
                                                   std::string_view ttl, bool by_configuration) const {
  std::string now;
  AppendRedisNumber(NowNumber(), &now);
  const Keys keys = KeysOf(model);
  std::vector<std::string_view> words = {"EVALSHA", reset_sha_, "8"};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), {quota, log, ttl, by_configuration ? kByConfiguration : std::string_view("+inf"), now});
  return {.text = FormatRedisCommand(words), .slot = RedisSlot(keys[0])};
}

RedisMessages::Command RedisMessages::FormatSetQuota(std::string_view model, const std::optional<ModelQuota>& quota,
                                                     bool by_configuration) const {
  std::string numbers = "none";
  if (quota) {
    numbers.clear();
    AppendQuota(*quota, &numbers);
  }
  return FormatChange(model, numbers, "counts", "0", by_configuration);
}

RedisMessages::Command RedisMessages::FormatReset(std::string_view model) const {
  return FormatChange(model, "keep", "", "0", false);
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
  return FormatChange(model, numbers, log, std::to_string(ttl.count()), state.by_configuration);
}

RedisMessages::Command RedisMessages::FormatRead(std::string_view model) const {
  const Keys keys = KeysOf(model);
  return {.text = FormatRedisCommand({"MGET", keys[0], keys[1]}), .slot = RedisSlot(keys[0])};
}

RedisMessages::Command RedisMessages::FormatUnlink(std::string_view key) const {
  return {.text = FormatRedisCommand({"UNLINK", key}), .slot = RedisSlot(key)};
}

RedisMessages::Command RedisMessages::FormatUnlinkDue() const { return FormatUnlink(names_ + "due"); }

std::vector<RedisMessages::Command> RedisMessages::FormatModels() const {
  std::vector<Command> commands;
  for (size_t slot = 0; slot < (by_slot_ ? kRedisSlots : 1); ++slot) {
    const auto of_slot = static_cast<uint16_t>(slot);
    commands.push_back(
        {.text = FormatRedisCommand({"ZRANGE", KeysOfNames(of_slot)[1], "0", "-1", "WITHSCORES"}), .slot = of_slot});
  }
  return commands;
}

std::vector<std::string> RedisMessages::LoadScripts() const {
  return {LoadRedisScript(RedisChargeScript()), LoadRedisScript(RedisSettleScript()),
          LoadRedisScript(RedisGiveBackScript()), LoadRedisScript(RedisResetScript())};
}

// --- Answers of the scripts

std::optional<RedisMessages::Charged> RedisMessages::ParseCharge(const redisReply& reply, size_t tiers,
                                                                 std::string_view reservation) {
  const std::string_view numbers = reply.type == REDIS_REPLY_STRING ? TextOf(reply) : std::string_view();
  const size_t before_round = kChargeNumbers + 2 * tiers;
  if (numbers.size() != (before_round + 1) * kRedisNumberBytes) return {};
  const auto at = [numbers](size_t place) { return RedisIntegerAt(numbers, place); };
  if (!IsOneOf(at(1), QuotaCode::kKeyReused) || at(2) >= static_cast<int64_t>(tiers) ||
      !IsOneOf(at(3), Limit::Unit::kCalls))
    return {};
  Charged charged{.now = FromRedisTime(at(0)),
                  .expired = static_cast<uint64_t>(at(15)),
                  .dropped = static_cast<uint64_t>(at(16)),
                  .fullness = RedisNumberAt(numbers, 18)};
  ChargeAnswer& answer = charged.answer;
  answer.code = static_cast<QuotaCode>(at(1));
  if (at(2) >= 0) answer.tier = static_cast<size_t>(at(2));
  answer.unit = static_cast<Limit::Unit>(at(3));
  if (at(4) >= 0) answer.retry_after = FromRedisMicros(at(4));
  if (at(5) == 1) answer.quota = ModelQuota{.max_rpm = at(6), .max_tpm = at(7), .max_rpd = at(8)};
  answer.usage = {
      .rpm = at(9),
      .tpm = at(10),
      .rpd = at(11),
      .day_start = FromRedisTime(at(12)),
      .open_reservations = at(13),
  };
  for (size_t i = 0; i < tiers; ++i) answer.tiers.push_back({.used = at(kChargeNumbers + 2 * i)});
  answer.charged = at(14) == 1;
  answer.new_names = static_cast<uint32_t>(at(17));
  if (at(19) >= 0) answer.again = {.tokens = at(19)};
  if (answer.charged || answer.again) answer.reservation = reservation;
  if (const int64_t round = at(before_round); round > 0 && answer.reservation.size() > kTokenBytes)
    answer.reservation.insert(kTokenBytes, "." + std::to_string(round));
  charged.name_lost = at(20) > 0;
  return charged;
}

bool RedisMessages::SaysCharged(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING && TextOf(reply).size() >= kChargeNumbers * kRedisNumberBytes &&
         RedisIntegerAt(TextOf(reply), 14) == 1;
}

std::optional<RedisMessages::Settled> RedisMessages::ParseSettlement(const redisReply& reply, std::string_view model) {
  const std::string_view numbers = reply.type == REDIS_REPLY_STRING ? TextOf(reply) : std::string_view();
  if (numbers.size() != kSettlementNumbers * kRedisNumberBytes) return {};
  const auto at = [numbers](size_t place) { return RedisIntegerAt(numbers, place); };
  if (!IsOneOf(at(0), SettlementAnswer::Code::kExpired)) return {};
  Settled settled{.expired = static_cast<uint64_t>(at(3)), .name_lost = at(8) > 0};
  settled.answer = {.code = static_cast<SettlementAnswer::Code>(at(0)),
                    .model = std::string(model),
                    .reserved_tokens = at(1),
                    .actual_tokens = at(2),
                    .refunded = at(5) == 1,
                    .late = at(6) == 1,
                    .again = at(7) == 1,
                    .time_left = FromRedisMicros(at(4))};
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

std::optional<std::vector<RedisMessages::KnownModel>> RedisMessages::ParseModels(const redisReply& reply) const {
  using Why = KnownModel::Why;
  if (reply.type != REDIS_REPLY_ARRAY) return {};
  std::vector<KnownModel> known;
  for (size_t i = 0; i + 1 < reply.elements; i += 2) {
    // RESP2 has scores as texts, which hiredis terminates with a NUL.
    const redisReply& written = *reply.element[i + 1];
    std::optional<std::string> model = ModelOf(TextOf(*reply.element[i]));
    if (!model || written.type != REDIS_REPLY_STRING) continue;
    const double score = std::strtod(written.str, nullptr);
    KnownModel& one = known.emplace_back(KnownModel{.model = *std::move(model), .key = {}, .kept_until = {}});
    if (one.model.empty()) one.key = TextOf(*reply.element[i]);
    if (score >= kRedisStatedByConfiguration) {
      one.why = score > kRedisStatedByConfiguration ? Why::kStated : Why::kStatedByConfiguration;
    } else {
      one.why = score < 0 ? Why::kTiers : Why::kLog;
      one.kept_until = FromRedisTime(WholeRedisNumber(std::abs(score)));
    }
  }
  return known;
}

std::optional<std::string> RedisMessages::ModelOf(std::string_view key) const {
  if (!key.starts_with(prefix_)) return {};
  key.remove_prefix(prefix_.size());
  const size_t end = key.find('}');
  if (end == std::string_view::npos) return {};
  return UnescapeName(key.substr(0, end));
}

RedisMessages::Keys RedisMessages::KeysOf(std::string_view model) const {
  std::string first = KeyOf(model, 'q');
  std::array<std::string, 2> of_names = KeysOfNames(by_slot_ ? RedisSlot(first) : 0);
  return {std::move(first),  KeyOf(model, 'm'), KeyOf(model, 'r'),      KeyOf(model, 'd'),
          KeyOf(model, 'e'), KeyOf(model, 'k'), std::move(of_names[0]), std::move(of_names[1])};
}

std::array<std::string, 2> RedisMessages::KeysOfNames(uint16_t slot) const {
  const std::string tag = by_slot_ ? ":{" + RedisTagOf(slot) + "}" : "";
  return {names_ + "names" + tag, names_ + "models" + tag};
}

std::string RedisMessages::KeyOf(std::string_view model, char kind) const {
  return prefix_ + EscapeName(model) + "}:" + kind;
}

double RedisMessages::NowNumber() const { return clock_ ? static_cast<double>(ToRedisTime(clock_->Now())) : -1; }

}  // namespace weir
