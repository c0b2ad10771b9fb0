// The parts of a RedisQuotaStore: redis_store.cc has decisions, redis_store_all.cc what concerns all models.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "throttle/quota/nearly_full.h"
#include "throttle/quota/redis/redis_messages.h"
#include "throttle/redis/redis_core.h"

namespace weir {

struct RedisQuotaStore::Rep {
  using Names = std::set<std::string, std::less<>>;

  Rep(RedisEndpoint endpoint_, RedisStoreOptions options_)
      : endpoint(std::move(endpoint_)),
        options(std::move(options_)),
        messages(options, endpoint.kind == RedisEndpoint::Kind::kCluster),
        core(endpoint, options.client(), messages.LoadScripts(), [this] { OnWell(); }) {}

  // A reservation that may have been made, or a take that was (`answer`), though its caller was not told: to be given
  // back.
  struct Owed {
    std::string id;  // for a take: the name under which its end is remembered
    RedisMessages::Command take = {};
    std::string answer = {};
    TimePoint until;
  };
  // A charge, as it is remembered until its answer.
  struct Asked {
    size_t tiers = 0;
    std::string reservation;
    Duration hold_for{};
    bool may_be_again = false;
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
  // Finds all that the servers name. If `missing` is given, servers may be away: it then says what is wrong with them.
  Result<std::vector<RedisMessages::KnownModel>> FindModels(std::string* missing = nullptr);
  Result<ModelList> ListModels(bool all);
  Status KeepThoseThatCount(std::span<const std::string> models, const std::map<std::string, WallTime>& tiers,
                            Names* kept, std::string* missing);
  Status ReadStates(std::span<const std::string> models, QuotaState* state);
  Status AskInTurn(std::vector<RedisMessages::Command> commands);
  Status ResetModel(std::string_view model);
  std::vector<RedisMessages::Command> FormatUnlinksAcross(std::span<const RedisMessages::KnownModel> known) const;
  Result<WallTime> Now();

  const RedisEndpoint endpoint;
  const RedisStoreOptions options;
  const RedisMessages messages;
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> expired{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> well{true};
  std::atomic<int64_t> nearly_full_until{0};  // steady nanoseconds: a call needed one of the last names lately
  std::atomic<int64_t> name_lost_until{0};    // the same: a named end was forgotten early
  mutable std::mutex problem_mutex;
  std::string problem;
  std::deque<Owed> owed;  // used only by the loop's thread, like the next two
  size_t giving_back = 0;
  bool give_back_failed = false;
  RedisCore core;  // the last member: waiting calls are answered by the members above
};

}  // namespace weir
