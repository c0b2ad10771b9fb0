// A quota store with answers that a test gives it, and an API that a test can call without a server.
#pragma once

#include <simdjson.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/limiters/quota/quota_api.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

class ScriptedStore final : public QuotaStore {
 public:
  std::string name() const override { return "scripted"; }
  Pace pace() const override { return pace_now; }
  size_t exact_entries() const override { return 4096; }
  Duration granule(Duration window) const override { return window / 1024; }

  ChargeAnswer Run(const Charge& charge) override {
    last_model = charge.model;
    last_tokens = charge.tokens;
    last_mode = charge.mode;
    last_hold_for = charge.hold_for;
    ChargeAnswer answer = charge_answer;
    answer.tiers.resize(charge.tiers.size());
    return answer;
  }
  SettlementAnswer Run(const Settlement& settlement) override {
    last_settled = settlement.tokens;
    return settlement_answer;
  }
  void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) override {
    waiting.push_back([answer = Run(charge), done] { done(answer); });
  }
  void Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) override {
    waiting.push_back([answer = Run(settlement), done] { done(answer); });
  }
  Status SetQuota(std::string_view, std::optional<ModelQuota> quota) override {
    last_quota = quota;
    return problem;
  }
  Status Reset(std::string_view model) override {
    last_model = model;
    return problem;
  }
  Result<std::vector<std::string>> Models() override {
    if (!problem.ok()) return problem;
    return std::vector<std::string>{"a model"};
  }
  Result<QuotaState> Export() override { return QuotaState{}; }
  Status Import(const QuotaState&) override { return {}; }
  void Prune() override {}
  StoreHealth Health() const override { return health; }

  // Makes the store behave like a server that does not answer.
  void GoAway() {
    problem = Status::Error("connection refused");
    charge_answer = {.code = QuotaCode::kStoreUnavailable, .problem = "connection refused"};
    settlement_answer = {.code = SettlementAnswer::Code::kStoreUnavailable, .problem = "connection refused"};
    health = {.breaker = StoreHealth::Breaker::kOpen,
              .decides = StoreHealth::Decides::kNone,
              .problem = "connection refused",
              .failures = 3};
  }

  Pace pace_now = Pace::kAtOnce;
  ChargeAnswer charge_answer;
  SettlementAnswer settlement_answer;
  StoreHealth health;
  Status problem;

  std::string last_model;
  int64_t last_tokens = -1;
  Charge::Mode last_mode{};
  Duration last_hold_for{};
  std::optional<int64_t> last_settled;
  std::optional<ModelQuota> last_quota;
  std::vector<std::function<void()>> waiting;
};

inline HttpResponse Ask(QuotaApi& api, QuotaRoute::Call call, std::string_view body, std::string_view model = "",
                        QuotaAudience audience = QuotaAudience::kStrangers) {
  std::vector<HttpResponse> answers;
  HttpRequest request;
  request.body = body;
  api.Answer({call, request, model, {}, audience},
             [&answers](HttpResponse response) { answers.push_back(std::move(response)); });
  return answers.size() == 1 ? answers[0] : HttpResponse{.status = 0, .body = "answered not just once"};
}

// Returns true if the answer has JSON in it.
inline bool IsJson(const HttpResponse& response) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  return parser.parse(response.body).get(root) == simdjson::SUCCESS;
}
inline std::string HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

// Returns the text at a JSON pointer of an answer, such as "/usage/rpm".
inline std::string Text(const HttpResponse& response, const char* pointer) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view text;
  if (parser.parse(response.body).get(root) || root.at_pointer(pointer).get(text)) return "nothing";
  return std::string(text);
}
inline int64_t Whole(const HttpResponse& response, const char* pointer) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  int64_t value = 0;
  if (parser.parse(response.body).get(root) || root.at_pointer(pointer).get(value)) return -1;
  return value;
}

// 2026-02-20T14:32:00Z
inline constexpr uint64_t kAfternoon = 1771597920;

// A limiter with the store in memory, and its API.
struct ApiWorld {
  explicit ApiWorld(QuotaConfig config = {}, MemoryStoreOptions options = {},
                    RateLimitDialect dialect = RateLimitDialect::kIetf)
      : store(options, clock), limiter(store, std::move(config)), api(limiter, dialect, clock) {}

  HttpResponse Ask(QuotaRoute::Call call, std::string_view body, std::string_view model = "") {
    return weir::Ask(api, call, body, model);
  }
  // Returns a figure of what is known of a model, such as "/usage/rpm".
  int64_t Figure(std::string_view model, const char* pointer) {
    return Whole(Ask(QuotaRoute::Call::kModel, "", model), pointer);
  }

  ManualWallClock clock{kAfternoon};
  MemoryQuotaStore store;
  QuotaLimiter limiter;
  QuotaApi api;
};

}  // namespace weir
