// Opens a quota store (quota_store.h) by its name. WEIR_QUOTA_STORE and `weir quota --store` take these names:
//
//   memory                                   in the memory of this process, and lost when the process ends
//   yaml:PATH                                in memory, and written to a file (yaml_store.h)
//   sqlite:PATH                              in a SQLite file that processes of one machine can share
//   redis://[USER:PASSWORD@]HOST:PORT[/DB]   in a Redis that many machines can share; rediss: over TLS
//   redis-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]/MASTER[/DB]    rediss-sentinel: over TLS
//   redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]                  rediss-cluster: over TLS
//
// A name redis-sentinel:// has the addresses of sentinels, which know the address of the server MASTER; a name
// redis-cluster:// has those of nodes of a cluster. If a redis:// name has several addresses (HOST:PORT,HOST:PORT…),
// they are addresses of one server, and the store tries them in turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/settings.h"
#include "config/wire/redis/redis_client_options.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// The settings WEIR_QUOTA_… of the stores.
struct QuotaStoreSettings {
  std::string store = "memory";
  uint64_t max_models = 100'000;                    // the most models without a quota that are counted at the same time
  uint64_t max_tier_keys = 1'000'000;               // the most counters of tiers
  uint64_t max_reservations = 250'000;              // the most open reservations; only for memory and yaml
  uint64_t max_idempotency_keys = kMostNamedEnded;  // the most keys that are remembered for each model
  // The least time between two writes of a yaml file; 0: only Persist and the end of the store write the file.
  std::chrono::milliseconds persist_every{1000};
  std::chrono::milliseconds redis_timeout{500};  // the wait for an answer; a slower Redis counts as not answering
  std::chrono::milliseconds redis_connect_timeout{1000};
  std::string redis_prefix = "weir";  // the text with which all keys begin
  std::string redis_ca_file;          // certificate authorities (PEM); empty: the system's
  std::string redis_cert_file;        // the client's certificate (PEM); empty: none
  std::string redis_key_file;         // private key of redis_cert_file
  bool redis_verify = true;           // whether the server's certificate is checked
};
// Adds the settings to `table`, which writes into `settings` when it is loaded.
void Declare(SettingTable& table, QuotaStoreSettings& settings);

// Returns the options for another client of the same Redis, for data other than quotas.
RedisClientOptions RedisClientOf(const QuotaStoreSettings& settings);

// Returns an error that says what is wrong if `name` does not have the form of a store's name. Looks at no file or
// server.
Status CheckQuotaStoreName(const std::string& name);
// Opens the store that settings.store names. The error says what is wrong with the name, or why the file cannot be
// used. It is no error if a Redis does not answer, because the store connects again and again; or if TLS files cannot
// be used, in which case the store answers every call with that problem. If `must_exist` is true, a missing file is an
// error, and is not made; this is for callers that only read the store. `clock` is as for a MemoryQuotaStore; a Redis
// store counts by the clock of its server.
Result<std::unique_ptr<QuotaStore>> OpenQuotaStore(const QuotaStoreSettings& settings, bool must_exist = false,
                                                   const WallClock& clock = WallClock::System());

}  // namespace weir
