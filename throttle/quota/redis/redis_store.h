// RedisQuotaStore: usage in Redis, for many machines. A decision is one Lua script and one round trip, by the server's
// time.
//
// Keys: all keys of a model begin with `<prefix>:{<model>}`, so that one decision stays in one slot of a cluster
// (redis_script.h lists them). Each count is one short string that is changed in place, so the cost of a decision does
// not depend on what is in the window. A key that no longer counts expires by itself; stated quotas do not.
//
// Names are bounded as in other stores, by what this store has made (redis_script.h), whatever else is in the database:
// max_models models (those with a quota count, and are never refused), max_tier_keys counts of tiers; a count takes its
// place until its key expires, which may be twice its window. In a cluster the bounds are per slot, because a script
// sees no other. Models() reads only names: no SCAN. Import replaces model by model, not in one step: repeat it if it
// failed; repeating it changes nothing.
//
// One thread runs the connections: calls from any thread are written together and answered in order, so that pipelining
// grows with the load. Submit never waits; Run waits for the answer, at most `timeout`.
//
// Away: a call is answered kStoreUnavailable if it gets no answer in `timeout`, if the server answers with an error
// (out of memory, no password, loading, read-only), or if there is no connection. The breaker opens after
// `breaker_failures` of these in a row, and at once if the server accepts no writes. While it is open calls are
// answered so at once, and a probe, which is refused whenever writes would be, asks the server after a pause that
// doubles from `retry_first` to `retry_longest`; the first probe that is answered closes the breaker. Health().problem
// goes with the first good answer, also to a probe of the store's own, which asks after each failure until all servers
// answer; it stays while a breaker is open.
//
// A call whose answer did not come may have been counted. It is never sent twice, unless the server says that it was
// not executed: MOVED, ASK, TRYAGAIN (and a script's "non local key"), NOSCRIPT, and READONLY with sentinels. After a
// restart the scripts are loaded again.
//
// Owed: a take or a reservation that was charged though it was answered kStoreUnavailable is given back, once. Its late
// answer says that it was charged; that is heard even on a connection that was given up (redis_connection.h), and costs
// a call that is answered in time nothing. A reservation is also asked for by its id, when the server answers again.
// kForce is not given back, because its use has happened; a caller that repeats it counts it twice. Nor is a charge
// with a token, which a caller may ask for again. At most 10,000 are owed. Beyond that, and if the connection broke or
// this process ended after the charge, it cannot be found out: it stays counted until it leaves its windows or, if it
// is a reservation, until its deadline. So less is admitted than could be, never more.
//
// Cluster: a slot that is being moved has no answers until all of it is there; its calls wait until then, at most
// `timeout`.
//
// Servers: Redis 7 or later; an older one is named in the problem and not used. One that evicts keys is used, and
// Health().warning says what to change (as of when the connection was made).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "throttle/quota/quota_store.h"
#include "throttle/redis/redis_client_options.h"
#include "throttle/redis/redis_url.h"

namespace weir {

struct RedisStoreOptions {
  std::string prefix = "weir";
  std::chrono::milliseconds timeout{500};
  std::chrono::milliseconds connect_timeout{1000};
  uint32_t breaker_failures = 5;
  std::chrono::milliseconds retry_first{100};
  std::chrono::milliseconds retry_longest{5000};
  std::string ca_file;
  std::string cert_file;  // the client's, with its key; empty: none
  std::string key_file;
  bool verify = true;
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;
  size_t max_named_ended = kMostNamedEnded;  // per model
  const WallClock* clock = nullptr;          // null: the server's; for tests

  // All names at once: two of each model, one of each count for all models, all with their scores.
  RedisReplyLimits ReplyLimits() const {
    constexpr size_t kBytesOfName = 128;
    RedisReplyLimits limits;
    const size_t names = 2 * max_models + max_tier_keys;
    limits.bytes += names * kBytesOfName;
    limits.elements += 4 * names;
    return limits;
  }
  RedisClientOptions client() const {
    return {.timeout = timeout,
            .connect_timeout = connect_timeout,
            .breaker_failures = breaker_failures,
            .retry_first = retry_first,
            .retry_longest = retry_longest,
            .ca_file = ca_file,
            .cert_file = cert_file,
            .key_file = key_file,
            .verify = verify,
            .reply = ReplyLimits()};
  }
};

class RedisQuotaStore final : public QuotaStore {
 public:
  // Does not wait for a connection. Functions that wait (all but Submit, name and Health) must not be called from
  // within `done`, which the connections' thread calls. Except for charges and settlements, an answer may take 4 *
  // `timeout`.
  RedisQuotaStore(RedisEndpoint endpoint, RedisStoreOptions options = {});
  ~RedisQuotaStore() override;  // answers waiting calls with kStoreUnavailable

  std::string name() const override;
  Pace pace() const override { return Pace::kAsynchronous; }
  size_t exact_entries() const override;
  Duration granule(Duration window) const override;
  bool CountsAcrossModels() const override;  // false on a cluster

  ChargeAnswer Run(const Charge& charge) override;
  SettlementAnswer Run(const Settlement& settlement) override;
  void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) override;
  void Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) override;
  Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) override;
  Status StateQuota(std::string_view model, const ModelQuota& quota) override;
  Result<std::vector<std::string>> StatedByConfiguration() override;
  Status Reset(std::string_view model) override;
  Result<std::vector<std::string>> Models() override;
  Result<ModelList> ListModels() override;
  Result<QuotaState> Export() override;
  Status Import(const QuotaState& state) override;
  void Prune() override;
  StoreHealth Health() const override;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
