// Answers of a Redis, behind hiredis: the map of a cluster, redirections and errors, INFO, and the results of the
// scripts of the quotas and of the shared windows. The first byte chooses the reader.
#include <algorithm>

#include "config/wire/redis/redis_cluster_map.h"
#include "config/wire/redis/redis_connection.h"
#include "tests/config/wire/redis/reply_of.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"
#include "throttle/limits/keyed/redis/redis_shared_windows.h"
#include "throttle/limits/quota/redis/redis_messages.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

const RedisAddress kAsked{.host = "10.0.0.1", .port = 7000};
constexpr WallTime kNow{1'700'000'000s};

void CheckSlots(const redisReply& reply) {
  const auto ranges = ParseClusterSlots(reply, kAsked);
  if (!ranges.ok()) return Must(IsError(reply) || !ranges.status().message().empty());
  Must(!ranges.value().empty());
  for (const RedisSlotRange& range : ranges.value())
    Must(range.first <= range.last && range.last < kRedisSlots && range.master.port != 0);
}

void CheckError(const redisReply& reply) {
  const std::string_view text = TextOf(reply);
  if (const auto redirection = ParseRedirection(text, kAsked))
    Must(redirection->slot < kRedisSlots && redirection->to.port != 0);
  Must(DescribeError(reply).starts_with(text));
  (void)IsKeyOnItsWay(reply);
}

void CheckInfo(std::string_view info) {
  (void)CheckRedisServer(info);
  (void)WarnOfEviction(info);
  Must(info.empty() || info.find(RedisInfoField(info, "redis_version")) != info.npos);
}

void CheckCharge(const redisReply& reply, size_t tiers) {
  const auto charged = RedisMessages::ParseCharge(reply, tiers, "id");
  if (!charged) return;
  Must(charged->answer.tiers.size() == tiers && charged->answer.tier.value_or(0) < std::max<size_t>(tiers, 1));
  Must(!NameOf(charged->answer.code).empty() && !NameOf(charged->answer.unit).empty());
  Must(charged->now >= WallTime() && charged->answer.usage.day_start >= WallTime());
  Must(!charged->answer.retry_after || *charged->answer.retry_after >= Duration::zero());
  Must(charged->answer.again || RedisMessages::SaysCharged(reply) == charged->answer.charged);
}

void CheckSettlement(const redisReply& reply) {
  const auto settled = RedisMessages::ParseSettlement(reply, "model");
  if (settled)
    Must(settled->answer.time_left >= Duration::zero() && settled->answer.code <= SettlementAnswer::Code::kExpired);
}

// Entries that are read from a log count now; the state is written and read back the same.
void CheckState(const redisReply& reply) {
  const auto state = RedisMessages::ParseState(reply, kNow);
  if (!state) return;
  for (const auto* entries : {&state->requests, &state->tokens})
    for (const ModelState::Entry& entry : *entries)
      Must(entry.amount > 0 && entry.time <= kNow && entry.time > kNow - kMinute);
  const ModelState again = ReadRedisModel(WriteRedisModel(*state, kNow), kNow);
  Must(again.requests.empty() == state->requests.empty() && again.tokens.empty() == state->tokens.empty());
}

void CheckModels(const redisReply& reply) {
  static const RedisMessages messages({}, false);
  const auto models = messages.ParseModels(reply);
  Must(models.has_value() == (reply.type == REDIS_REPLY_ARRAY));
  if (!models) return;
  for (const auto& model : *models) Must(model.kept_until >= WallTime() && model.model.empty() == !model.key.empty());
}

void CheckLease(const redisReply& reply) {
  const LeaseWish wish{.key = "key", .window = 1s, .limit = 10, .grants = 5};
  const auto answer = ParseLease(reply, wish);
  if (answer) Must(answer->granted <= wish.grants && answer->used >= answer->granted && answer->remaining <= 2s);
}

void Check(std::string_view wire) {
  const uint8_t reader = TakeByte(&wire);
  const RedisReply reply = ReplyOf(wire);
  if (reply == nullptr) return;
  if (IsError(*reply)) CheckError(*reply);
  switch (reader) {
    case 'c':
      return CheckCharge(*reply, 0);
    case 't':
      return CheckCharge(*reply, 1);
    case 's':
      return CheckSettlement(*reply);
    case 'q':
      return CheckState(*reply);
    case 'm':
      return CheckModels(*reply);
    case 'l':
      return CheckLease(*reply);
    case 'i':
      return CheckInfo(TextOf(*reply));
    default:
      return CheckSlots(*reply);
  }
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
