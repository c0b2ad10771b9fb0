// Opens a store by its name, as WEIR_QUOTA_STORE and `weir quota --store` give it:
//
//   memory                                   this process alone, gone with it
//   yaml:PATH                                this process alone, kept in a file of the published format
//   sqlite:PATH                              the processes of this machine
//   redis://[USER:PASSWORD@]HOST:PORT[/DB]   many machines. rediss: over TLS
//   redis-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]/MASTER[/DB]    rediss-sentinel: over TLS
//   redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]                  rediss-cluster: over TLS
//
// redis://HOST:PORT,HOST:PORT… names several addresses of one server, which are tried in turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "throttle/quota/quota_store.h"
#include "throttle/redis/redis_client_options.h"

namespace weir {

// Settings of the operator: WEIR_QUOTA_…
struct QuotaStoreSettings {
  std::string store = "memory";
  uint64_t max_models = 100'000;
  uint64_t max_tier_keys = 1'000'000;
  uint64_t max_reservations = 250'000;
  uint64_t max_idempotency_keys = kMostNamedEnded;
  std::chrono::milliseconds persist_every{1000};  // yaml
  std::chrono::milliseconds redis_timeout{500};   // for an answer; then it counts as away
  std::chrono::milliseconds redis_connect_timeout{1000};
  std::string redis_prefix = "weir";  // the keys begin with it
  std::string redis_ca_file;          // empty: the system's
  std::string redis_cert_file;        // the client's; empty: none
  std::string redis_key_file;         // private key of redis_cert_file
  bool redis_verify = true;           // whether the server's certificate is checked
};
void Declare(SettingTable& table, QuotaStoreSettings& settings);

// Options for any client of that Redis, also for other data than quotas.
RedisClientOptions RedisClientOf(const QuotaStoreSettings& settings);

// The error says what is wrong with the name; no file is looked at.
Status CheckQuotaStoreName(const std::string& name);
// The error says what is wrong with the name, or why the file cannot be used. A Redis that is away is no error: it is
// asked again and again. must_exist: a missing file is an error and is not made, for example if the store is only read.
Result<std::unique_ptr<QuotaStore>> OpenQuotaStore(const QuotaStoreSettings& settings, bool must_exist = false);

}  // namespace weir
