// The functions of QuotaLimiter that do not decide on requests: statistics, quotas and configuration.
#include <algorithm>
#include <condition_variable>
#include <future>
#include <iterator>
#include <span>
#include <utility>

#include "config/mutex.h"
#include "config/text/parse.h"
#include "throttle/limits/quota/begun_anew.h"
#include "throttle/limits/quota/model_names.h"
#include "throttle/limits/quota/quota_limiter.h"
#include "throttle/limits/quota/quota_reasons.h"

namespace weir {
namespace {

constexpr size_t kAskedAtOnce = 256;  // models that AllStats asks an asynchronous store for at the same time

// Waits at most a day at a time, because a wait that ends after the clock's last moment would not wait at all.
class SystemSleeper final : public Sleeper {
 public:
  void Sleep(Duration d, const std::stop_token& stop) override {
    Mutex mutex;
    std::condition_variable_any never;
    MutexLock lock(mutex);
    for (Duration left = d; left > Duration(0) && !stop.stop_requested(); left -= std::min(left, kDay))
      never.wait_for(lock, stop, std::min(left, kDay), [] { return false; });
  }
};

// Returns an error if limits or prices have a name under which no request is counted.
Status CheckCountedNames(const QuotaConfig& config) {
  const ModelNames names(config);
  const auto check = [&](std::string_view model) { return model == kAnyModel ? Status() : names.CheckCounted(model); };
  for (const auto& [model, price] : config.prices)
    if (Status checked = check(model); !checked.ok()) return checked;
  for (const ModelClass& of_models : config.tiers.model_classes) {
    if (of_models.deny) continue;
    for (const std::string& model : of_models.models)
      if (Status checked = names.CheckCounted(model); !checked.ok()) return checked;
  }
  for (const auto* parties : {&config.tiers.tenants, &config.tiers.api_keys})
    for (const auto& [party, by_model] : *parties)
      for (const auto& [model, limits] : by_model)
        if (Status checked = check(model); !checked.ok()) return checked;
  return {};
}

}  // namespace

Sleeper& Sleeper::System() {
  static SystemSleeper sleeper;
  return sleeper;
}

std::vector<Provider> QuotaConfig::ProvidersThatHold() const {
  if (providers.empty() && quotas.empty() && !no_profiles) return {Provider::kGemini};
  return providers;
}

Status CheckQuotaConfig(const QuotaConfig& config) {
  for (const auto& [model, quota] : config.quotas) {
    if (Status name = CheckModelName(model); !name.ok()) return name;
    if (Status checked = CheckQuota(model, quota); !checked.ok()) return checked;
  }
  for (const auto& [name, model] : config.aliases) {
    if (Status checked = CheckModelName(name); !checked.ok()) return checked;
    if (Status checked = CheckModelName(model); !checked.ok()) return checked;
    if (Status checked = CheckAlias(name, model, config); !checked.ok()) return checked;
  }
  for (const std::string& model : config.denied_models)
    if (Status name = CheckModelName(model); !name.ok()) return name;
  for (const auto& [model, price] : config.prices) {
    if (Status name = CheckModelName(model); !name.ok()) return name;
    if (std::min(price.input, price.output) < 0 || std::max(price.input, price.output) > kMostAmount)
      return Status::Error("the price of " + Printable(model) + ": found " +
                           AmountText(Limit::Unit::kMoney, price.input) + " and " +
                           AmountText(Limit::Unit::kMoney, price.output) + ", expected 0.." +
                           AmountText(Limit::Unit::kMoney, kMostAmount));
  }
  if (config.reservation_ttl < kMinReservationTtl || config.reservation_ttl > kMaxReservationTtl)
    return Status::Error("the reservations' time to live is " + FormatNumber(ToSeconds(config.reservation_ttl)) +
                         " s, expected 1 s..24 h");
  if (Status checked = CheckTierRules(config.tiers); !checked.ok()) return checked;
  return CheckCountedNames(config);
}

Status AddAlias(std::string_view name, std::string_view model, QuotaConfig* config) {
  if (Status checked = CheckModelName(name); !checked.ok()) return checked;
  if (name == model && !IsModelPattern(name))
    return Status::Error(Printable(name) + ": stands for itself without being named here");
  const auto [at, fresh] = config->aliases.emplace(name, model);
  if (!fresh && at->second != model)
    return Status::Error(Printable(name) + ": stands for " + Printable(at->second) + " already");
  return {};
}

Status CheckAlias(std::string_view name, std::string_view model, const QuotaConfig& config) {
  if (name != model && config.quotas.contains(name))
    return Status::Error(Printable(name) + ": has limits of its own under models, so it is never counted as " +
                         Printable(model) + "; expected one of the two");
  const auto claimant = config.aliases.find(model);
  if (claimant != config.aliases.end() && claimant->second != model && !config.quotas.contains(model))
    return Status::Error(Printable(name) + ": " + Printable(model) + " is itself counted as " +
                         Printable(claimant->second) + "; expected it there");
  return {};
}

bool CountsAcrossModels(const QuotaConfig& config) {
  const auto any = [](const auto& parties) {
    return std::ranges::any_of(parties, [](const auto& party) {
      const auto all = party.second.find("*");
      return all != party.second.end() && std::ranges::any_of(all->second, &Limit::total);
    });
  };
  const TierRulesConfig& tiers = config.tiers;
  return any(tiers.tenants) || any(tiers.api_keys) || !tiers.users.empty() || !tiers.tenant_users.empty();
}

ModelQuota QuotaLimiter::CutDown(const ModelQuota& quota) {
  return {.max_rpm = std::min(quota.max_rpm, kMostAmount),
          .max_tpm = std::min(quota.max_tpm, kMostAmount),
          .max_rpd = std::min(quota.max_rpd, kMostAmount)};
}

// Returns an error for a name that is counted as another model, so that no caller changes the other model by accident.
Status QuotaLimiter::CheckOwnName(std::string_view model) const {
  if (Status name = CheckName("model", model); !name.ok()) return name;
  const std::string counted_as(CountedAs(model));
  if (counted_as == model) return {};
  return Status::Error("model: " + Printable(model) + " is counted as " + Printable(counted_as) + "; name that");
}

Result<ModelStats> QuotaLimiter::Stats(std::string_view asked) {
  if (Status name = CheckName("model", asked); !name.ok()) return name;
  const std::string model(CountedAs(asked));
  const Charge charge{.model = model, .requests = 0, .default_quota = DefaultQuota(model)};
  const ChargeAnswer answer = store_.Run(charge);
  if (answer.code == QuotaCode::kStoreUnavailable) return Status::Error(StoreAwayReason(answer.problem));
  return ModelStats{.model = std::string(model), .quota = answer.quota, .usage = answer.usage};
}

Result<AllModelStats> QuotaLimiter::AllStats(std::string_view after, size_t most) {
  Result<ModelList> stored = store_.ListModels();
  if (!stored.ok()) return stored.status();
  const std::vector<std::string> models = WithConfigured(std::move(stored.value().models));
  AllModelStats all{.problem = std::move(stored.value().missing)};
  const auto first = std::ranges::upper_bound(models, after);
  const auto rest = static_cast<size_t>(models.end() - first);
  const std::span<const std::string> names(first, std::min(most, rest));
  if (names.size() < rest) all.next = names.back();
  for (size_t begin = 0; begin < names.size(); begin += kAskedAtOnce)
    AddStats(names.subspan(begin, std::min(kAskedAtOnce, names.size() - begin)), &all);
  if (all.models.empty() && !all.problem.empty()) return Status::Error(StoreAwayReason(all.problem));
  return all;
}

// Asks for all of these models before it waits for the first answer.
void QuotaLimiter::AddStats(std::span<const std::string> models, AllModelStats* all) {
  std::vector<std::future<ChargeAnswer>> answers;
  for (const std::string& model : models) {
    auto promise = std::make_shared<std::promise<ChargeAnswer>>();
    answers.push_back(promise->get_future());
    store_.Submit(Charge{.model = model, .requests = 0, .default_quota = DefaultQuota(model)},
                  [promise](ChargeAnswer answer) { promise->set_value(std::move(answer)); });
  }
  for (size_t i = 0; i < models.size(); ++i) {
    const ChargeAnswer answer = answers[i].get();
    if (answer.code == QuotaCode::kStoreUnavailable) {
      all->unavailable.push_back(models[i]);
      all->problem = answer.problem;
    } else {
      all->models.push_back({.model = models[i], .quota = answer.quota, .usage = answer.usage});
    }
  }
}

Result<std::vector<std::string>> QuotaLimiter::Models() {
  Result<std::vector<std::string>> stored = store_.Models();
  if (!stored.ok()) return stored;
  return WithConfigured(std::move(stored).value());
}

std::vector<std::string> QuotaLimiter::WithConfigured(std::vector<std::string> models) const {
  for (const std::string& model : ConfiguredModels()) models.push_back(model);
  std::ranges::sort(models);
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

Status QuotaLimiter::Reset(std::string_view model) {
  if (Status name = CheckOwnName(model); !name.ok()) return name;
  return store_.Reset(model);
}

Status QuotaLimiter::ResetAll() { return store_.Reset(""); }

Status QuotaLimiter::SetQuota(std::string_view model, const ModelQuota& quota) {
  if (Status name = CheckOwnName(model); !name.ok()) return name;
  if (Status checked = CheckQuota(model, quota); !checked.ok()) return checked;
  return store_.SetQuota(model, CutDown(quota));
}

Status QuotaLimiter::UnsetQuota(std::string_view model) {
  if (Status name = CheckOwnName(model); !name.ok()) return name;
  const std::shared_ptr<const QuotaConfig> config = this->config();
  const auto configured = config->quotas.find(model);
  if (configured == config->quotas.end()) return store_.SetQuota(model, std::nullopt);
  return store_.StateQuota(model, configured->second);
}

void QuotaLimiter::AddProvider(Provider provider) {
  const MutexLock lock(stating_mutex_);
  QuotaConfig changed = *config();
  changed.providers = changed.ProvidersThatHold();
  if (std::ranges::find(changed.providers, provider) != changed.providers.end()) return;
  changed.providers.push_back(provider);
  Use(std::move(changed));
}

// Passes no default quota, so that the store answers with the quota that was stated to it, if any.
Result<std::optional<ModelQuota>> QuotaLimiter::StatedQuota(std::string_view model) {
  const ChargeAnswer answer = store_.Run(Charge{.model = model, .requests = 0});
  if (answer.code == QuotaCode::kStoreUnavailable) return Status::Error(StoreAwayReason(answer.problem));
  return answer.quota;
}

Status QuotaLimiter::StateQuota(const std::string& model, const ModelQuota& quota) {
  const Result<std::optional<ModelQuota>> before = StatedQuota(model);
  if (!before.ok()) return before.status();
  if (before.value() != quota) {
    if (Status stated = store_.StateQuota(model, quota); !stated.ok()) return stated;
    // No warning for a quota that this limiter stated itself.
    const auto own = stated_.find(model);
    if (before.value() && (own == stated_.end() || own->second != *before.value()))
      warnings_.push_back(Printable(model) + ": the store said " + Describe(*before.value()) +
                          ", by another process or an earlier configuration; now " + Describe(quota) +
                          " holds for all that share it");
  }
  stated_.insert_or_assign(model, quota);
  return {};
}

// Withdraws the quota only if it has not changed since this limiter or an earlier configuration stated it.
Status QuotaLimiter::WithdrawQuota(const std::string& model, const ModelQuota& quota) {
  const Result<std::optional<ModelQuota>> before = StatedQuota(model);
  if (!before.ok()) return before.status();
  if (before.value() != quota) return {};
  if (Status withdrawn = store_.SetQuota(model, std::nullopt); !withdrawn.ok()) return withdrawn;
  warnings_.push_back(Printable(model) + ": stands in the configuration no more; " + Describe(quota) +
                      " is withdrawn for all that share the store");
  return {};
}

// Finds quotas that earlier configurations left in the store, so that StateQuotas withdraws them as if this limiter had
// stated them. If the store has a quota of this configuration but does not know that it comes from a configuration,
// tells the store.
Status QuotaLimiter::LookAtStore(const QuotaConfig& config) {
  const Result<std::vector<std::string>> by_configuration = store_.StatedByConfiguration();
  if (!by_configuration.ok()) return by_configuration.status();
  for (const std::string& model : by_configuration.value()) {
    if (config.quotas.contains(model) || stated_.contains(model)) continue;
    const Result<std::optional<ModelQuota>> quota = StatedQuota(model);
    if (!quota.ok()) return quota.status();
    if (quota.value()) stated_.emplace(model, *quota.value());
  }
  for (const auto& [model, quota] : config.quotas) {
    if (std::ranges::binary_search(by_configuration.value(), model)) continue;
    const Result<std::optional<ModelQuota>> now = StatedQuota(model);
    if (!now.ok()) return now.status();
    if (now.value() != quota) continue;
    if (Status stated = store_.StateQuota(model, quota); !stated.ok()) return stated;
  }
  looked_at_store_ = true;
  return {};
}

// States again the quotas that the store has lost. If the store has a different quota, keeps it: another process or an
// administrator has stored it, before the connection was lost or after the store came back empty.
Status QuotaLimiter::StateLost(const QuotaConfig& config) {
  std::vector<std::string> others;
  for (const auto& [model, quota] : config.quotas) {
    const auto stated = stated_.find(model);
    if (stated == stated_.end()) continue;
    const Result<std::optional<ModelQuota>> now = StatedQuota(model);
    Status done = now.status();
    if (now.ok() && !now.value()) {
      done = store_.StateQuota(model, quota);
      if (done.ok())
        warnings_.push_back(Printable(model) + ": the store had lost it; " + Describe(quota) + " is stated again");
    } else if (now.ok() && now.value() != stated->second) {
      others.push_back(Printable(model) + ": the store says " + Describe(*now.value()) +
                       ", by another process or an administrator; it holds here too, and not " +
                       Describe(stated->second) + " of the configuration");
    }
    if (!done.ok()) return Status::Error("stating the quota of " + Printable(model) + " again: " + done.message());
  }
  warnings_.insert(warnings_.end(), others.begin(), others.end());
  return {};
}

Result<std::vector<std::string>> QuotaLimiter::StateQuotas() {
  const MutexLock lock(stating_mutex_);
  const std::shared_ptr<const QuotaConfig> config = this->config();
  const uint64_t reconnects = store_.Health().reconnects;
  if (reconnects != reconnects_seen_) {
    if (Status done = StateLost(*config); !done.ok()) return done;
    reconnects_seen_ = reconnects;
  }
  if (config->withdraws_others && !looked_at_store_)
    if (Status done = LookAtStore(*config); !done.ok())
      return Status::Error("looking for quotas of earlier configurations: " + done.message());
  for (const auto& [model, quota] : config->quotas) {
    const auto before = stated_.find(model);
    if (before != stated_.end() && before->second == quota) continue;
    if (Status done = StateQuota(model, quota); !done.ok())
      return Status::Error("stating the quota of " + Printable(model) + ": " + done.message());
  }
  for (auto it = stated_.begin(); it != stated_.end();) {
    if (config->quotas.contains(it->first)) {
      ++it;
      continue;
    }
    if (Status done = WithdrawQuota(it->first, it->second); !done.ok())
      return Status::Error("withdrawing the quota of " + Printable(it->first) + ": " + done.message());
    it = stated_.erase(it);
  }
  for (std::string& warning : naming_.TakeWarnings()) warnings_.push_back(std::move(warning));
  return std::exchange(warnings_, {});
}

Result<std::vector<std::string>> QuotaLimiter::Reconfigure(QuotaConfig config) {
  {
    const MutexLock lock(stating_mutex_);
    if (const std::shared_ptr<const QuotaConfig> before = this->config(); config != *before) {
      std::ranges::move(CountsBegunAnew(*before, config, date_.Now()), std::back_inserter(warnings_));
      Use(std::move(config));
      looked_at_store_ = false;
    }
  }
  return StateQuotas();
}

std::jthread QuotaLimiter::BackgroundPrune(Duration interval) {
  return std::jthread([this, interval](const std::stop_token& stop) {
    while (true) {
      sleeper_.Sleep(interval, stop);
      if (stop.stop_requested()) return;
      store_.Prune();
    }
  });
}

}  // namespace weir
