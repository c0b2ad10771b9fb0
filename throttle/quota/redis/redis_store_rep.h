// What a RedisQuotaStore consists of: decisions are in redis_store.cc, what concerns all models in redis_store_all.cc.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "throttle/quota/redis/redis_core.h"
#include "throttle/quota/redis/redis_messages.h"

namespace weir {

inline bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

struct RedisQuotaStore::Rep {
  using Names = std::set<std::string, std::less<>>;

  Rep(RedisEndpoint endpoint_, RedisStoreOptions options_)
      : endpoint(std::move(endpoint_)),
        options(std::move(options_)),
        messages(options),
        core(endpoint, options, messages, [this] { OnWell(); }) {}

  // A reservation that may have been made.
  struct Unanswered {
    std::string reservation;
    TimePoint deadline;
  };
  // What a charge is remembered by until its answer.
  struct Asked {
    size_t tiers = 0;
    std::string reservation;
    Duration hold_for{};
  };
  void OnCharged(const RedisOutcome& outcome, const Asked& asked, const std::function<void(ChargeAnswer)>& done);
  void OnSettled(const RedisOutcome& outcome, const std::string& model,
                 const std::function<void(SettlementAnswer)>& done);
  std::string Fail(const RedisOutcome& outcome);
  void Succeed(uint64_t expired_now = 0);
  void OnWell();
  void Remember(Unanswered one);
  void GiveBackUnanswered();
  void OnGivenBack(const RedisOutcome& outcome, const Unanswered& one);
  // Every key of the store's, perhaps more than once.
  using OnKey = std::function<void(const std::string& key)>;
  Status FindKeys(const OnKey& on_key);
  Status FindKeysOf(const std::shared_ptr<RedisServer>& server, const OnKey& on_key);
  Result<std::vector<std::string>> FindModels();
  Status KeepThoseThatCount(std::span<const std::string> models, Names* kept, Names* others);
  Status KeepThoseWithTiers(const Names& others, Names* kept);
  Status ReadStates(std::span<const std::string> models, QuotaState* state);
  Status AskInTurn(std::vector<RedisMessages::Command> commands);
  Result<WallTime> Now();

  const RedisEndpoint endpoint;
  const RedisStoreOptions options;
  const RedisMessages messages;
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> expired{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> well{true};
  mutable std::mutex problem_mutex;
  std::string problem;
  std::deque<Unanswered> unanswered;  // the loop's thread's, as the next two
  size_t giving_back = 0;
  bool give_back_failed = false;
  RedisCore core;  // the last: what waits is answered by the members above
};

}  // namespace weir
