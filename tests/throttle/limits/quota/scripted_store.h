// ScriptedStore: a quota store that gives the answers of the test and records the calls.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

class ScriptedStore final : public QuotaStore {
 public:
  // A charge that owns its texts.
  struct Asked {
    std::string model;
    Charge charge;  // its views of texts are empty
    std::vector<std::string> keys;
  };

  Pace pace_now = Pace::kAtOnce;
  bool away = false;
  size_t most_pending = SIZE_MAX;  // when this many charges are pending, the store answers them
  uint64_t reconnects = 0;
  std::deque<ChargeAnswer> answers;  // the first answers; after them the store answers according to `quotas`
  SettlementAnswer settlement;
  std::map<std::string, ModelQuota, std::less<>> quotas;

  std::vector<Asked> asked;
  std::vector<std::pair<std::string, std::optional<int64_t>>> settled;
  std::vector<std::string> calls;  // administrative calls
  std::deque<std::function<void()>> pending;

  std::string name() const override { return "scripted"; }
  Pace pace() const override { return pace_now; }
  size_t exact_entries() const override { return 1000; }
  Duration granule(Duration) const override { return Duration(1); }

  ChargeAnswer Run(const Charge& charge) override {
    Asked a{.model = std::string(charge.model), .charge = charge, .keys = {}};
    for (const TierCharge& tier : charge.tiers) a.keys.emplace_back(tier.key);
    a.charge.model = {};
    a.charge.tiers = {};
    asked.push_back(std::move(a));
    if (away) return {.code = QuotaCode::kStoreUnavailable, .problem = "connection refused"};
    if (!answers.empty()) {
      ChargeAnswer answer = answers.front();
      answers.pop_front();
      return answer;
    }
    ChargeAnswer answer{.quota = charge.default_quota};
    if (const auto found = quotas.find(charge.model); found != quotas.end()) answer.quota = found->second;
    if (!answer.quota) answer.code = QuotaCode::kUnknownModel;
    answer.charged = charge.charges();
    if (charge.holds()) answer.reservation = "id@" + std::string(charge.model);
    return answer;
  }
  SettlementAnswer Run(const Settlement& settlement_asked) override {
    settled.emplace_back(settlement_asked.reservation, settlement_asked.tokens);
    if (away) return {.code = SettlementAnswer::Code::kStoreUnavailable, .problem = "connection refused"};
    return settlement;
  }
  void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) override {
    if (pace_now != Pace::kAsynchronous) return done(Run(charge));
    pending.push_back([answer = Run(charge), done = std::move(done)] { done(answer); });
    if (pending.size() < most_pending) return;
    while (!pending.empty()) AnswerOne();
  }
  void Submit(const Settlement& of, std::function<void(SettlementAnswer)> done) override {
    if (pace_now != Pace::kAsynchronous) return done(Run(of));
    pending.push_back([answer = Run(of), done = std::move(done)] { done(answer); });
  }
  void AnswerOne() {
    const std::function<void()> next = std::move(pending.front());
    pending.pop_front();
    next();
  }

  Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) override {
    if (away) return Status::Error("connection refused");
    calls.push_back("set " + std::string(model) + (quota ? " " + Describe(*quota) : " nothing"));
    if (quota) {
      quotas.insert_or_assign(std::string(model), *quota);
    } else {
      quotas.erase(std::string(model));
    }
    return {};
  }
  Status Reset(std::string_view model) override {
    calls.push_back("reset '" + std::string(model) + "'");
    return {};
  }
  Result<std::vector<std::string>> Models() override {
    if (away) return Status::Error("connection refused");
    std::vector<std::string> models;
    for (const auto& [model, quota] : quotas) models.push_back(model);
    return models;
  }
  Result<QuotaState> Export() override {
    if (away) return Status::Error("connection refused");
    return state;
  }
  Status Import(const QuotaState& to) override {
    if (away) return Status::Error("connection refused");
    state = to;
    return {};
  }
  Status Persist() override { return persisted; }
  StoreHealth Health() const override { return {.reconnects = reconnects}; }
  void Prune() override {
    std::lock_guard lock(prune_mutex);
    ++pruned;
  }

  QuotaState state;
  Status persisted;
  std::mutex prune_mutex;
  int pruned = 0;
};

}  // namespace weir
