// RedisQuotaStore: a QuotaStore (quota_store.h) whose counters are in Redis, so that many machines can share them. A
// decision is one Lua script, and takes one round trip. It uses the clock of the server.
//
// Keys: all keys of a model begin with `<prefix>:{<model>}`, so that they are in one slot of a cluster (redis_slot.h)
// and one script can use them; redis_script.h lists the keys. Each counter is one short string that is changed in
// place, so the cost of a decision does not depend on how many entries the window has. A key expires some time after it
// has stopped counting. Stated quotas (those of SetQuota and StateQuota) do not expire.
//
// Bounds: as in other stores, there may be at most max_models models without a stated quota, and at most max_tier_keys
// counters of tiers. Other keys in the database do not count. A model whose quota comes only with its charges
// (Charge::default_quota) takes one of the places for models, too, but is never refused. A counter keeps its place
// until its key expires. Between its last charge and that time, more than two lengths of its window may pass. In a
// cluster the bounds apply to each slot, because a script can use only one slot. Models() reads the keys of names, and
// does not use SCAN. Import replaces one model after the other, not all in one step. If it fails, the caller can repeat
// it; repeating changes nothing.
//
// Threads: all functions may be called from any thread. One thread of the store runs the connections. It sends all
// calls that wait at one time with one write (pipelining), and the server answers them in order. Submit never waits;
// Run waits for the answer, at most `timeout`.
//
// Failures: the answer to a call is kStoreUnavailable if no reply comes within `timeout`, if the server answers with an
// error (out of memory, no password, loading, read-only), or if there is no connection. The circuit breaker of a server
// (redis_breaker.h) opens after `breaker_failures` such failures in a row. It opens at once if connecting fails, or if
// the server accepts no writes. Errors of a single key or command do not count. While the breaker is open, the store
// answers calls for this server with kStoreUnavailable at once. After a pause, which doubles from `retry_first` up to
// `retry_longest`, the store connects again or, if there is a connection, sends a probe: a script that the server
// refuses whenever it would refuse writes. The first success closes the breaker. After a failure, the store also probes
// all servers, with longer and longer pauses, until all of them answer. Then, or at the first good answer to a call,
// Health().problem is cleared; but Health shows a problem until all breakers are closed.
//
// A call that got no answer may have been counted. The store never sends it a second time, unless the server says that
// it has not executed the call: MOVED, ASK, TRYAGAIN (and the "non local key" of a script), NOSCRIPT, and, with
// sentinels, READONLY. After a restart of the server, the store loads the scripts again.
//
// Owed charges: if a take (Charge::Mode::kTake) or a reservation was charged although its caller got kStoreUnavailable,
// the store "owes" the amount to the caller, and releases it once. The store learns of the charge from the late reply,
// which it reads even on a connection that it has given up (redis_connection.h). For that, each reply says in which
// entries the amounts were counted, which costs the server 1 % of a decision. A reservation that may have been made is
// also refunded by its id, when the server answers again. Two kinds of charges are not released: kForce, because its
// use has usually happened (if the caller repeats it, it is counted twice), and a charge with a token (Charge::token),
// because the caller may ask for it again. The store remembers at most 10,000 owed charges, and forgets the oldest if
// there are more. It remembers each for 30 minutes after its late reply, and a reservation without a reply for its time
// to live. It does not release a charge that it has forgotten, nor a charge of which it cannot learn because the
// connection broke or this process ended. Such an amount counts until it leaves its windows or, for a reservation,
// until its deadline. So the store may admit too little, but never too much.
//
// Cluster: while a slot is being moved to another server, calls for this slot may get no answer until all its keys have
// arrived. The calls wait for that, at most `timeout`.
//
// Servers: Redis 7 or later. The store does not use an older server; the problem names its version. The store does use
// a server that evicts keys, but Health().warning says what to change. The warning describes the server as it was when
// the connection was made.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "config/wire/redis/redis_client_options.h"
#include "config/wire/redis/redis_url.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

struct RedisStoreOptions {
  std::string prefix = "weir";             // the text with which all keys begin
  std::chrono::milliseconds timeout{500};  // the wait for an answer
  std::chrono::milliseconds connect_timeout{1000};
  uint32_t breaker_failures = 5;                  // the number of failures in a row that opens the breaker
  std::chrono::milliseconds retry_first{100};     // the first pause before a probe
  std::chrono::milliseconds retry_longest{5000};  // the longest pause
  std::string ca_file;                            // certificate authorities (PEM); empty: the system's
  std::string cert_file;                          // the client's certificate (PEM); empty: none
  std::string key_file;                           // private key of cert_file
  bool verify = true;                             // whether the server's certificate is checked
  size_t max_models = 100'000;                    // models without a stated quota
  size_t max_tier_keys = 1'000'000;               // counters of tiers
  size_t max_named_ended = kMostNamedEnded;       // how many ends of named reservations are remembered for each model
  // Null: the clock of the server is used. Only tests set another clock, which must outlive the store.
  const WallClock* clock = nullptr;

  // Returns the bounds of one reply. The largest reply has all names, each with its score: two names for each model,
  // and one name for each counter for all models together.
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
  // Returns without waiting for a connection. The functions of the store wait for the server, except Submit and those
  // that do not ask the server: name, pace, exact_entries, granule, CountsAcrossModels and Health. The thread of the
  // connections calls `done` of Submit, so `done` must not call a function that waits. A charge or a settlement waits
  // at most `timeout`. Every other function waits at most 4 * `timeout` for each of its steps. If it concerns all
  // models, its first step finds them, and each further step asks for at most 128 of them.
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
