// RedisMessages: formats the commands with which a RedisQuotaStore calls its Lua scripts (redis_script.h), and parses
// the replies.
//
// Thread-safe. A RedisMessages does not change after it is made.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/wire/redis/redis_call.h"
#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/redis/redis_store.h"

namespace weir {

class RedisMessages {
 public:
  // `by_slot` is true for a cluster, where each slot has its own keys of names (redis_script.h). The clock of `options`
  // must outlive this object.
  RedisMessages(const RedisStoreOptions& options, bool by_slot);

  using Command = RedisCommand;
  // Formats a charge. `reservation` is the id of the reservation that the charge makes, or empty if it makes none.
  Command FormatCharge(const Charge& charge, std::string_view reservation) const;
  // Formats a settlement. Returns nothing if settlement.reservation does not have the form of an id.
  std::optional<Command> FormatSettlement(const Settlement& settlement) const;
  // Formats the release of a take that was charged although its caller got the answer kStoreUnavailable. `take` is the
  // command that charged it, and `answer` is the reply to that command. Redis remembers the release under `id`, which
  // has the form of a reservation's id, so that repeating the release changes nothing.
  Command FormatGiveBack(const Command& take, std::string_view answer, std::string_view id) const;
  // Formats the change of a stated quota. If `quota` is empty, the command removes the quota.
  Command FormatSetQuota(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration) const;
  // Formats a reset. The caller must send the command again until the reply is 0: each call releases a part of what the
  // open reservations have charged to counters that the model shares with other models, and only the last call resets
  // the model.
  Command FormatReset(std::string_view model) const;
  // Formats the replacement of all data of a model by `state`. An empty state deletes the model. The caller must repeat
  // the command as for FormatReset.
  Command FormatRestore(std::string_view model, const ModelState& state, WallTime now) const;
  Command FormatRead(std::string_view model) const;  // reads the model's keys q and m (MGET)
  Command FormatUnlink(std::string_view key) const;
  // Formats the deletion of the key <prefix>:due (redis_script.h).
  Command FormatUnlinkDue() const;
  // Formats the query for the names of all models: one command or, for a cluster, one command for each slot.
  std::vector<Command> FormatModels() const;
  // Returns the commands that load the scripts into a server.
  std::vector<std::string> LoadScripts() const;

  // The parsed reply to a charge.
  struct Charged {
    ChargeAnswer answer;
    WallTime now;            // the time by which the server decided
    uint64_t expired = 0;    // the number of reservations that the call found expired
    uint64_t dropped = 0;    // the number of parts of a forced charge for which there was no room
    double fullness = -1;    // the share of the room for names that is in use; -1 if the charge needed none
    bool name_lost = false;  // the end of a named reservation was forgotten too early (quota_store.h)
  };
  // Parses the reply to FormatCharge, for a charge with `tiers` tiers. `reservation` is the same as in FormatCharge;
  // the reply says its round (ReservationId). Returns nothing if `reply` is not a reply of the script.
  static std::optional<Charged> ParseCharge(const redisReply& reply, size_t tiers, std::string_view reservation);
  // Returns true if the reply to FormatCharge says that the amounts were charged.
  static bool SaysCharged(const redisReply& reply);
  struct Settled {
    SettlementAnswer answer;
    uint64_t expired = 0;
    bool name_lost = false;
  };
  // Parses the reply to FormatSettlement. Returns nothing if `reply` is not a reply of the script.
  static std::optional<Settled> ParseSettlement(const redisReply& reply, std::string_view model);
  // Parses the reply to FormatRead, as of `now`. Returns nothing if the model has no quota and nothing counts for it.
  // Does not set by_configuration.
  static std::optional<ModelState> ParseState(const redisReply& reply, WallTime now);
  // One name in the reply to FormatModels. A model may have two of these: for its log (key m), and for its tiers.
  struct KnownModel {
    enum class Why : uint8_t { kLog, kTiers, kStated, kStatedByConfiguration };
    std::string model;
    std::string key;  // only for a counter of all models together: its key; `model` is then empty
    Why why = Why::kLog;
    WallTime kept_until;  // only for kLog and kTiers
  };
  // Parses the reply to a command of FormatModels. Returns nothing if `reply` is not such a reply.
  std::optional<std::vector<KnownModel>> ParseModels(const redisReply& reply) const;

 private:
  std::optional<std::string> ModelOf(std::string_view key) const;
  // The keys of a command: the model's six keys, and the two keys of names (redis_script.h).
  static constexpr size_t kKeysOfModel = 6;
  using Keys = std::array<std::string, kKeysOfModel + 2>;
  Keys KeysOf(std::string_view model) const;
  std::array<std::string, 2> KeysOfNames(uint16_t slot) const;
  std::string KeyOf(std::string_view model, char kind) const;
  double NowNumber() const;
  Command FormatChange(std::string_view model, std::string_view quota, std::string_view log, std::string_view ttl,
                       bool by_configuration) const;

  const std::string names_;   // "weir:", for the prefix "weir"
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

// WriteRedisModel returns the log of a model in the form in which the scripts store it (redis_script.h), without open
// reservations. The text is empty if nothing counts. ReadRedisModel returns the usage that still counts at `now`; it is
// empty if the text is not such a log.
std::string WriteRedisModel(const ModelState& state, WallTime now);
ModelState ReadRedisModel(std::string_view text, WallTime now);

}  // namespace weir
