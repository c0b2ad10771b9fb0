#include "throttle/limits/quota/open_store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "config/text/parse.h"
#include "config/wire/redis/redis_url.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/redis/redis_store.h"
#include "throttle/limits/quota/sqlite/sqlite_store.h"
#include "throttle/limits/quota/yaml_store.h"

namespace weir {
namespace {

constexpr std::string_view kForms =
    "memory, yaml:PATH, sqlite:PATH, redis://[USER:PASSWORD@]HOST:PORT[/DB], "
    "redis-sentinel://HOST:PORT,.../MASTER[/DB], redis-cluster://HOST:PORT,... (rediss...: over TLS)";

std::string Shown(std::string_view name) { return Printable(WithoutPassword(name)); }

template <typename Store>
Result<std::unique_ptr<QuotaStore>> AsStore(Result<std::unique_ptr<Store>> opened) {
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<QuotaStore>(std::move(opened).value());
}

RedisStoreOptions RedisOptionsOf(const QuotaStoreSettings& settings) {
  RedisStoreOptions options;
  options.prefix = settings.redis_prefix;
  options.timeout = settings.redis_timeout;
  options.connect_timeout = settings.redis_connect_timeout;
  options.ca_file = settings.redis_ca_file;
  options.cert_file = settings.redis_cert_file;
  options.key_file = settings.redis_key_file;
  options.verify = settings.redis_verify;
  options.max_models = settings.max_models;
  options.max_tier_keys = settings.max_tier_keys;
  options.max_named_ended = settings.max_idempotency_keys;
  return options;
}

Result<std::unique_ptr<QuotaStore>> OpenRedis(const QuotaStoreSettings& settings) {
  Result<RedisEndpoint> endpoint = ParseRedisUrl(settings.store);
  if (!endpoint.ok()) return endpoint.status();
  return std::unique_ptr<QuotaStore>(
      std::make_unique<RedisQuotaStore>(std::move(endpoint).value(), RedisOptionsOf(settings)));
}

}  // namespace

void Declare(SettingTable& table, QuotaStoreSettings& settings) {
  table.AddSecret(
      "QUOTA_STORE", &settings.store,
      "where quotas are counted: memory (this process alone), yaml:PATH (kept in a file), sqlite:PATH (the "
      "processes of this machine), redis://HOST:PORT (many machines), redis-sentinel://… or redis-cluster://…",
      WithoutPassword);
  table.Add("QUOTA_MAX_MODELS", &settings.max_models, {.min = 1, .max = 1e9, .unit = "models"},
            "models that are counted at once; a request for one more is refused until another is forgotten");
  table.Add("QUOTA_MAX_TIER_KEYS", &settings.max_tier_keys, {.min = 1, .max = 1e9, .unit = "counts"},
            "counts of tiers (user and model, instance, ...) that are kept at once");
  table.Add(
      "QUOTA_MAX_RESERVATIONS", &settings.max_reservations, {.min = 1, .max = 1e9, .unit = "reservations"},
      "reservations open at once in a memory or yaml: store, about 300 bytes each; the store also remembers how as "
      "many more ended, and as many again that had an idempotency key");
  table.Add("QUOTA_MAX_IDEMPOTENCY_KEYS", &settings.max_idempotency_keys, {.min = 1, .max = 1e9, .unit = "keys"},
            "idempotency keys of a model that are remembered for a day, about 300 bytes each; for a further one the "
            "oldest is forgotten, with a warning");
  table.Add("QUOTA_PERSIST_MS", &settings.persist_every, {.min = 0, .max = 3'600'000, .unit = "ms"},
            "how often a yaml: store writes its file when something has changed; 0: only when it ends");
  table.Add("QUOTA_REDIS_TIMEOUT_MS", &settings.redis_timeout, {.min = 1, .max = 60'000, .unit = "ms"},
            "longest time that Redis may take to answer; after it, Redis counts as away");
  table.Add("QUOTA_REDIS_CONNECT_TIMEOUT_MS", &settings.redis_connect_timeout, {.min = 1, .max = 60'000, .unit = "ms"},
            "longest time that connecting to Redis may take");
  table.Add("QUOTA_REDIS_PREFIX", &settings.redis_prefix, "text with which the keys in Redis begin");
  table.Add("QUOTA_REDIS_CA_FILE", &settings.redis_ca_file,
            "file of CA certificates (PEM) that verify the certificate of a Redis over TLS; empty: the system's");
  table.Add(
      "QUOTA_REDIS_CERT_FILE", &settings.redis_cert_file,
      "file of the certificate (PEM, with its intermediate certificates) that is shown to a Redis over TLS; Redis asks "
      "for one by default (tls-auth-clients); empty: none");
  table.Add("QUOTA_REDIS_KEY_FILE", &settings.redis_key_file,
            "file of the private key (PEM) of WEIR_QUOTA_REDIS_CERT_FILE");
  table.Add("QUOTA_REDIS_VERIFY", &settings.redis_verify, "whether the certificate of a Redis over TLS is checked");
}

RedisClientOptions RedisClientOf(const QuotaStoreSettings& settings) { return RedisOptionsOf(settings).client(); }

Status CheckQuotaStoreName(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const bool has_rest = colon != name.npos && colon + 1 < name.size();
  if (name == "memory") return {};
  if (kind.starts_with("redis")) {
    const Status status = ParseRedisUrl(name).status();
    return status.ok() ? status : Status::Error("quota store \"" + Shown(name) + "\": " + status.message());
  }
  if ((kind == "yaml" || kind == "sqlite") && has_rest) return {};
  std::string error = "quota store \"" + Shown(name) + "\": ";
  error.append(kind == "yaml" || kind == "sqlite" ? "the path of the file is missing" : "there is no such store");
  return Status::Error(error.append("; expected one of ").append(kForms));
}

Result<std::unique_ptr<QuotaStore>> OpenQuotaStore(const QuotaStoreSettings& settings, bool must_exist,
                                                   const WallClock& clock) {
  const std::string& name = settings.store;
  if (Status checked = CheckQuotaStoreName(name); !checked.ok()) return checked;
  const MemoryStoreOptions memory{.max_models = settings.max_models,
                                  .max_tier_keys = settings.max_tier_keys,
                                  .max_reservations = settings.max_reservations,
                                  .max_named_ended = settings.max_idempotency_keys};
  if (name == "memory") return std::unique_ptr<QuotaStore>(std::make_unique<MemoryQuotaStore>(memory, clock));
  if (name.starts_with("redis")) return OpenRedis(settings);
  const std::string rest = name.substr(name.find(':') + 1);
  if (std::error_code error; must_exist && !std::filesystem::exists(rest, error))
    return Status::Error("quota store \"" + Shown(name) + "\": " + (error ? error.message() : "there is no such file"));
  if (name.starts_with("yaml:"))
    return AsStore(YamlQuotaStore::Open(rest, {.memory = memory, .persist_every = settings.persist_every}, clock));
  SqliteStoreOptions options;
  options.max_models = settings.max_models;
  options.max_tier_keys = settings.max_tier_keys;
  options.max_named_ended = settings.max_idempotency_keys;
  return OpenSqliteQuotaStore(rest, options, clock);
}

}  // namespace weir
