// RedisMessages: formats what the store says to the scripts, and parses what they answer.
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
  // by_slot: for a cluster, where each slot has its own keys of names.
  RedisMessages(const RedisStoreOptions& options, bool by_slot);

  using Command = RedisCommand;
  // reservation: the id, if the charge holds; else empty.
  Command FormatCharge(const Charge& charge, std::string_view reservation) const;
  // Returns nothing if it is no reservation of this store.
  std::optional<Command> FormatSettlement(const Settlement& settlement) const;
  // Gives back a take that was charged, as its `answer` says, though no caller waited for it any more. `id`, a
  // reservation's, is the name under which that is remembered.
  Command FormatGiveBack(const Command& take, std::string_view answer, std::string_view id) const;
  // States a quota, or takes it away.
  Command FormatSetQuota(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration) const;
  // To be sent until the answer is 0: what the open reservations hold of counts for all models is given back first, a
  // part of them at a time.
  Command FormatReset(std::string_view model) const;
  // Replaces all that there is of a model. With an empty state the model is forgotten.
  Command FormatRestore(std::string_view model, const ModelState& state, WallTime now) const;
  Command FormatRead(std::string_view model) const;  // MGET of q and m
  Command FormatUnlink(std::string_view key) const;
  Command FormatUnlinkDue() const;  // key of the models that have reservations in counts for all models
  // Asks for the names of all models: one command, or one for each slot of a cluster.
  std::vector<Command> FormatModels() const;
  std::vector<std::string> LoadScripts() const;

  // The answer to a charge, with how many reservations had expired, and how much forced usage was dropped.
  struct Charged {
    ChargeAnswer answer;
    WallTime now;
    uint64_t expired = 0;
    uint64_t dropped = 0;
    double fullness = -1;    // share of the room for names that is taken; -1 if none was needed
    bool name_lost = false;  // a named end was forgotten before its time was over
  };
  // Returns nothing if it is no answer of the script.
  static std::optional<Charged> ParseCharge(const redisReply& reply, size_t tiers, std::string_view reservation);
  static bool SaysCharged(const redisReply& reply);
  struct Settled {
    SettlementAnswer answer;
    uint64_t expired = 0;
    bool name_lost = false;
  };
  static std::optional<Settled> ParseSettlement(const redisReply& reply, std::string_view model);
  // Parses the answer to FormatRead, as of `now`. Returns nothing if the model has no quota and nothing counts.
  static std::optional<ModelState> ParseState(const redisReply& reply, WallTime now);
  // One name in the answer to FormatModels. A model may have two, for its log and for its tiers.
  struct KnownModel {
    enum class Why : uint8_t { kLog, kTiers, kStated, kStatedByConfiguration };
    std::string model;
    std::string key;  // set for a count for all models together; `model` is empty then
    Why why = Why::kLog;
    WallTime kept_until;  // for kLog and kTiers
  };
  // Returns nothing if it is no answer to FormatModels.
  std::optional<std::vector<KnownModel>> ParseModels(const redisReply& reply) const;

 private:
  std::optional<std::string> ModelOf(std::string_view key) const;
  // The model's six keys, and the two of names.
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

// Writes the model's log as it is stored (redis_script.h), without open reservations; and reads it, as far as it counts
// at `now`.
std::string WriteRedisModel(const ModelState& state, WallTime now);
ModelState ReadRedisModel(std::string_view text, WallTime now);

}  // namespace weir
