// Opens a quota store (quota_store.h) by its name, as WEIR_QUOTA_STORE and `weir quota --store` give it:
//
//   memory                                   the memory of this process, lost at its end
//   yaml:PATH                                the same, written to a file (yaml_store.h)
//   sqlite:PATH                              a SQLite file that the processes of one machine share
//   redis://[USER:PASSWORD@]HOST:PORT[/DB]   a Redis that many machines share. rediss: over TLS
//   redis-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]/MASTER[/DB]    rediss-sentinel: over TLS
//   redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]                  rediss-cluster: over TLS
//
// redis://HOST:PORT,HOST:PORT… gives several addresses of one server, which are tried in turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "throttle/quota/quota_store.h"
#include "throttle/redis/redis_client_options.h"

namespace weir {

// The operator's settings WEIR_QUOTA_…
struct QuotaStoreSettings {
  std::string store = "memory";
  uint64_t max_models = 100'000;                    // models without a quota that are counted at once
  uint64_t max_tier_keys = 1'000'000;               // counters of tiers
  uint64_t max_reservations = 250'000;              // open reservations; only memory and yaml
  uint64_t max_idempotency_keys = kMostNamedEnded;  // keys that are remembered for each model
  // The pause between two writes of a yaml file; 0: the file is written only at the end.
  std::chrono::milliseconds persist_every{1000};
  std::chrono::milliseconds redis_timeout{500};  // for an answer; a slower Redis counts as not answering
  std::chrono::milliseconds redis_connect_timeout{1000};
  std::string redis_prefix = "weir";  // the beginning of all keys
  std::string redis_ca_file;          // certificate authorities (PEM); empty: the system's
  std::string redis_cert_file;        // the client's certificate (PEM); empty: none
  std::string redis_key_file;         // private key of redis_cert_file
  bool redis_verify = true;           // whether the server's certificate is checked
};
// Adds the settings to a table, which writes into `settings` when it is loaded.
void Declare(SettingTable& table, QuotaStoreSettings& settings);

// Returns the options for another client of the same Redis, which keeps other data than quotas there.
RedisClientOptions RedisClientOf(const QuotaStoreSettings& settings);

// Checks the form of a store's name, without looking at a file or a server. The error says what is wrong.
Status CheckQuotaStoreName(const std::string& name);
// Opens the store that settings.store names. The error says what is wrong with the name, or why the file cannot be
// used. A Redis that does not answer is no error: the store tries again and again. TLS files that cannot be used are no
// error either: the store then answers every call with that problem. If `must_exist` is true, a missing file is an
// error and is not made, for example because the store is only read.
Result<std::unique_ptr<QuotaStore>> OpenQuotaStore(const QuotaStoreSettings& settings, bool must_exist = false);

}  // namespace weir
