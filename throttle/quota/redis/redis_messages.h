// RedisMessages: what the store says to the scripts, and what they answer.
//
// Immutable; any number of threads.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/redis/redis_call.h"
#include "throttle/quota/redis/redis_store.h"

namespace weir {

class RedisMessages {
 public:
  explicit RedisMessages(const RedisStoreOptions& options);

  struct Command {
    std::string text;  // FormatRedisCommand
    uint16_t slot = 0;
  };
  // reservation: of kHold, else empty.
  Command FormatCharge(const Charge& charge, std::string_view reservation) const;
  // Nothing where it is no reservation of this store.
  std::optional<Command> FormatSettlement(const Settlement& settlement) const;
  // A quota: stated anew, or none any more.
  Command FormatSetQuota(std::string_view model, const std::optional<ModelQuota>& quota) const;
  Command FormatReset(std::string_view model) const;
  // All that there is of a model, from now on. Nothing: it is forgotten.
  Command FormatRestore(std::string_view model, const ModelState& state, WallTime now) const;
  Command FormatRead(std::string_view model) const;  // MGET of q and m
  // Whether something counts in one of these counts of tiers (FormatScan's, of this model): 1 or 0.
  Command FormatTiersCount(std::string_view model, std::span<const std::string> keys) const;
  std::string FormatScan(std::string_view cursor) const;
  // What only a server that takes what is to be written answers.
  std::string FormatProbe() const;
  std::vector<std::string> LoadScripts() const;

  // The answer to a charge, with how many reservations had expired, and how much forced usage was dropped.
  struct Charged {
    ChargeAnswer answer;
    WallTime now;
    uint64_t expired = 0;
    uint64_t dropped = 0;
  };
  // Nothing where it is no answer of the script.
  static std::optional<Charged> ParseCharge(const redisReply& reply, size_t tiers, std::string_view reservation);
  struct Settled {
    SettlementAnswer answer;
    uint64_t expired = 0;
  };
  static std::optional<Settled> ParseSettlement(const redisReply& reply, std::string_view model);
  // Of FormatRead, as of `now`. Nothing: it has no quota, and nothing counts.
  static std::optional<ModelState> ParseState(const redisReply& reply, WallTime now);
  // The model of a key of this prefix.
  std::optional<std::string> ModelOf(std::string_view key) const;
  static bool IsTierKey(std::string_view key) { return key.find("}:t:") != std::string_view::npos; }

 private:
  // The first four keys.
  std::array<std::string, 4> KeysOf(std::string_view model) const;
  std::string KeyOf(std::string_view model, char kind) const;
  double NowNumber() const;
  Command FormatChange(std::string_view model, std::string_view quota, std::string_view log,
                       std::string_view ttl) const;

  const std::string prefix_;  // "weir:{"
  const WallClock* clock_;
  const double max_keys_;
  const std::string charge_sha_;
  const std::string settle_sha_;
  const std::string reset_sha_;
  const std::string tiers_sha_;
  const std::string probe_sha_;
};

// The model's log as it is kept (redis_script.h), without open reservations; and back, as far as it counts at `now`.
std::string WriteRedisModel(const ModelState& state, WallTime now);
ModelState ReadRedisModel(std::string_view text, WallTime now);

}  // namespace weir
