// RedisQuotaStore::Rep: the implementation of a RedisQuotaStore. Its functions for single decisions are in
// redis_store.cc, and those for all models are in redis_store_all.cc.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/wire/redis/redis_core.h"
#include "throttle/limits/quota/nearly_full.h"
#include "throttle/limits/quota/redis/redis_messages.h"

namespace weir {

struct RedisQuotaStore::Rep {
  using Names = std::set<std::string, std::less<>>;

  Rep(RedisEndpoint endpoint_, RedisStoreOptions options_)
      : endpoint(std::move(endpoint_)),
        options(std::move(options_)),
        messages(options, endpoint.kind == RedisEndpoint::Kind::kCluster),
        core(endpoint, options.client(), messages.LoadScripts(), [this] { OnWell(); }) {}

  // A charge that the store must release because its caller got the answer kStoreUnavailable: a take that was charged,
  // or a reservation that may have been made.
  struct Owed {
    std::string id;                    // the reservation's; for a take: the id under which its release is remembered
    RedisMessages::Command take = {};  // the command of the take; empty for a reservation
    std::string answer = {};           // the reply to `take`; empty for a reservation
    TimePoint until;                   // the time at which the store forgets the owed charge
  };
  // The data of a charge that OnCharged needs when the answer comes.
  struct Asked {
    size_t tiers = 0;
    std::string reservation;  // the id of the reservation; empty if the charge makes none
    Duration hold_for{};
    bool may_be_again = false;  // the charge has a Charge::token
  };
  void OnCharged(const RedisOutcome& outcome, const Asked& asked, const std::function<void(ChargeAnswer)>& done);
  void OnSettled(const RedisOutcome& outcome, const std::string& model,
                 const std::function<void(SettlementAnswer)>& done);
  std::string Fail(const RedisOutcome& outcome);
  void Succeed(uint64_t expired_now = 0);
  void NoteNameLost() { name_lost_until = (core.Now() + kWarnedFor).time_since_epoch().count(); }
  void OnWell();
  void OnLateCharge(RedisCall* call, const redisReply& reply, const std::string& reservation);
  void Remember(Owed one);
  void GiveBackOwed();
  void OnGivenBack(const RedisOutcome& outcome, const Owed& one);
  // Returns all models and counters that the servers name. Returns an error if a server does not answer. If `missing`
  // is not null, returns an error only if no server answers; `missing` then says what is wrong with the servers that do
  // not.
  Result<std::vector<RedisMessages::KnownModel>> FindModels(std::string* missing = nullptr);
  Result<ModelList> ListModels(bool all);
  Status KeepThoseThatCount(std::span<const std::string> models, const std::map<std::string, WallTime>& tiers,
                            Names* kept, std::string* missing);
  Status ReadStates(std::span<const std::string> models, QuotaState* state);
  // Sends the commands. If `left` is not null, adds to it the commands whose reply is a number above 0.
  Status AskInTurn(std::span<const RedisMessages::Command> commands,
                   std::vector<RedisMessages::Command>* left = nullptr);
  // Sends resets, restores and changes of quotas, each of them until it is done (RedisMessages::FormatReset).
  Status ChangeInTurn(std::vector<RedisMessages::Command> commands);
  std::vector<RedisMessages::Command> FormatUnlinksAcross(std::span<const RedisMessages::KnownModel> known) const;
  Result<WallTime> Now();

  const RedisEndpoint endpoint;
  const RedisStoreOptions options;
  const RedisMessages messages;
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> expired{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> well{true};
  // The time (in ns of the steady clock) until which Health warns that the room for names is nearly taken.
  std::atomic<int64_t> nearly_full_until{0};
  std::atomic<int64_t> name_lost_until{0};  // the same, for the warning that a named end was forgotten too early
  mutable Mutex problem_mutex;
  std::string problem WEIR_GUARDED_BY(problem_mutex);
  std::deque<Owed> owed;   // only the thread of the connections uses owed, giving_back, give_back_failed
  size_t giving_back = 0;  // the number of releases that have no answer yet
  bool give_back_failed = false;
  RedisCore core;  // the last member, because its destructor answers waiting calls, which uses the others
};

}  // namespace weir
