// RedisQuotaStore: a QuotaStore (quota_store.h) whose counters are in Redis, so that many machines share them. A
// decision is one Lua script and one round trip, by the server's clock.
//
// Keys: all keys of a model begin with `<prefix>:{<model>}`, so that they are in one slot of a cluster (redis_slot.h)
// and one script can use them. redis_script.h lists the keys. Each counter is one short string that is changed in
// place, so the cost of a decision does not depend on how many entries the window has. A key expires when nothing in it
// counts any longer; stated quotas do not expire.
//
// The numbers of models and of counters are bounded as in other stores: to max_models models without a stated quota,
// and max_tier_keys counters of tiers. Other keys in the database do not count. A model whose quota comes only with its
// charges (Charge::default_quota) takes one of the places too, but is never refused. A counter takes its place until
// its key expires, which may be twice its window. In a cluster the bounds are per slot, because a script sees no other
// slot. Models() reads the keys of names; it does not SCAN. Import replaces one model after the other, not all in one
// step. If it fails, repeat it: repeating changes nothing.
//
// Threads: one thread runs the connections. Calls from any thread are written together and answered in order, so
// pipelining grows with the load. Submit never waits; Run waits for the answer, at most `timeout`.
//
// Unavailable: the answer to a call is kStoreUnavailable if no reply comes within `timeout`, if the server answers with
// an error (out of memory, no password, loading, read-only), or if there is no connection. The breaker
// (redis_breaker.h) opens after `breaker_failures` such failures in a row, and at once if connecting fails or the
// server accepts no writes; errors of a single key or command do not count. While it is open, calls are answered at
// once. After a pause, which doubles from `retry_first` to `retry_longest`, a probe asks the server; it is a script
// that the server refuses whenever it would refuse writes. The first probe that is answered closes the breaker. After
// each failure the store also sends probes of its own, until all servers answer. The first good answer, to a call or to
// such a probe, clears Health().problem; while a breaker is open, a problem is shown nevertheless.
//
// A call that got no answer may have been counted. It is never sent twice, unless the server says that it was not
// executed: MOVED, ASK, TRYAGAIN (and a script's "non local key"), NOSCRIPT, and READONLY with sentinels. After a
// restart of the server the scripts are loaded again.
//
// Owed: if a take or a reservation was charged although its answer was kStoreUnavailable, the store owes its caller the
// amount, and releases it once. It learns of the charge from the late reply, which it reads even on a connection that
// was given up (redis_connection.h); this costs nothing for a call that is answered in time. A reservation is also
// refunded by its id when the server answers again, in case it was made. Two kinds of charges are not released: kForce,
// because its use has happened (a caller that repeats it counts it twice), and a charge with a token (Charge::token),
// because its caller may ask for it again. The store remembers at most 10,000 owed charges. Beyond that, and if the
// connection broke or this process ended after the charge, the store cannot find out; then the amount counts until it
// leaves its windows or, for a reservation, until its deadline. So the store admits less than possible, never more.
//
// Cluster: while a slot is being moved, its calls may get no answer until all its keys have arrived; they wait for
// that, at most `timeout`.
//
// Servers: Redis 7 or later. An older server is not used, and the problem names its version. A server that evicts keys
// is used, and Health().warning says what to change; it describes the server as it was when the connection was made.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "throttle/quota/quota_store.h"
#include "throttle/redis/redis_client_options.h"
#include "throttle/redis/redis_url.h"

namespace weir {

struct RedisStoreOptions {
  std::string prefix = "weir";             // the beginning of all keys
  std::chrono::milliseconds timeout{500};  // for an answer
  std::chrono::milliseconds connect_timeout{1000};
  uint32_t breaker_failures = 5;                  // failed calls in a row that open the breaker
  std::chrono::milliseconds retry_first{100};     // the first pause before a probe
  std::chrono::milliseconds retry_longest{5000};  // the longest pause
  std::string ca_file;                            // certificate authorities (PEM); empty: the system's
  std::string cert_file;                          // the client's certificate (PEM); empty: none
  std::string key_file;                           // private key of cert_file
  bool verify = true;                             // whether the server's certificate is checked
  size_t max_models = 100'000;                    // models without a stated quota
  size_t max_tier_keys = 1'000'000;               // counters of tiers
  size_t max_named_ended = kMostNamedEnded;       // ends of named reservations that are remembered, for each model
  // Null: the server's clock decides. Only tests set another clock, which must outlive the store.
  const WallClock* clock = nullptr;

  // Bounds of one reply, which may have all names: two for each model, and one for each counter for all models
  // together. Each name comes with its score.
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
  // Returns without waiting for a connection. All functions wait for the server, except Submit and those that do not
  // ask it: name, pace, exact_entries, granule, CountsAcrossModels and Health. The connections' thread calls `done` of
  // Submit, so `done` must not call a function that waits. A charge or a settlement waits at most `timeout`; the other
  // functions wait at most 4 * `timeout` for each of their steps, and a step of a function over all models asks for 128
  // models.
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
