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
#include "throttle/quota/redis/redis_store.h"
#include "throttle/redis/redis_call.h"

namespace weir {

class RedisMessages {
 public:
  // by_slot: of a cluster, whose slots have their names apart.
  RedisMessages(const RedisStoreOptions& options, bool by_slot);

  using Command = RedisCommand;
  // reservation: of kHold, else empty.
  Command FormatCharge(const Charge& charge, std::string_view reservation) const;
  // Nothing where it is no reservation of this store.
  std::optional<Command> FormatSettlement(const Settlement& settlement) const;
  // A take that was charged, as its answer says, though nobody waited for it. `id`, a reservation's, is what that is
  // remembered by.
  Command FormatGiveBack(const Command& take, std::string_view answer, std::string_view id) const;
  // A quota: stated anew, or none any more.
  Command FormatSetQuota(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration) const;
  // Is to be sent until the answer is 0: what the open reservations hold of counts for all models is given back first,
  // so many of them at a time.
  Command FormatReset(std::string_view model) const;
  // All that there is of a model, from now on. Nothing: it is forgotten.
  Command FormatRestore(std::string_view model, const ModelState& state, WallTime now) const;
  Command FormatRead(std::string_view model) const;  // MGET of q and m
  Command FormatUnlink(std::string_view key) const;
  Command FormatUnlinkDue() const;  // which models have reservations in counts for all models
  // What names all models: one for each slot of a cluster.
  std::vector<Command> FormatModels() const;
  std::vector<std::string> LoadScripts() const;

  // The answer to a charge, with how many reservations had expired, and how much forced usage was dropped.
  struct Charged {
    ChargeAnswer answer;
    WallTime now;
    uint64_t expired = 0;
    uint64_t dropped = 0;
    double fullness = -1;    // of the room for names, where some was looked for
    bool name_lost = false;  // a named end was forgotten before its time was over
  };
  // Nothing where it is no answer of the script.
  static std::optional<Charged> ParseCharge(const redisReply& reply, size_t tiers, std::string_view reservation);
  static bool SaysCharged(const redisReply& reply);
  struct Settled {
    SettlementAnswer answer;
    uint64_t expired = 0;
    bool name_lost = false;
  };
  static std::optional<Settled> ParseSettlement(const redisReply& reply, std::string_view model);
  // Of FormatRead, as of `now`. Nothing: it has no quota, and nothing counts.
  static std::optional<ModelState> ParseState(const redisReply& reply, WallTime now);
  // What FormatModels names. Of the same model: perhaps its log, and its tiers.
  struct KnownModel {
    enum class Why : uint8_t { kLog, kTiers, kStated, kStatedByConfiguration };
    std::string model;
    std::string key;  // of a count for all models together, whose model is empty
    Why why = Why::kLog;
    WallTime kept_until;  // of kLog and kTiers
  };
  // Nothing where it is no answer to FormatModels.
  std::optional<std::vector<KnownModel>> ParseModels(const redisReply& reply) const;

 private:
  std::optional<std::string> ModelOf(std::string_view key) const;
  // The model's six, and the two of names.
  static constexpr size_t kKeysOfModel = 6;
  using Keys = std::array<std::string, kKeysOfModel + 2>;
  Keys KeysOf(std::string_view model) const;
  std::array<std::string, 2> KeysOfNames(uint16_t slot) const;
  std::string KeyOf(std::string_view model, char kind) const;
  double NowNumber() const;
  Command FormatChange(std::string_view model, std::string_view quota, std::string_view log, std::string_view ttl,
                       bool by_configuration) const;

  const std::string names_;   // "weir:"
  const std::string prefix_;  // "weir:{"
  const WallClock* clock_;
  const double max_models_;
  const double max_tier_keys_;
  const double max_named_ended_;
  const bool by_slot_;
  const std::string charge_sha_;
  const std::string settle_sha_;
  const std::string give_back_sha_;
  const std::string reset_sha_;
};

// The model's log as it is kept (redis_script.h), without open reservations; and back, as far as it counts at `now`.
std::string WriteRedisModel(const ModelState& state, WallTime now);
ModelState ReadRedisModel(std::string_view text, WallTime now);

}  // namespace weir
