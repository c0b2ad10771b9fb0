#include "bench/quota/stores.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/figure_tables.h"
#include "bench/measure/own_cpu.h"
#include "bench/quota/much.h"
#include "bench/quota/pipeline.h"
#include "bench/quota/redis_process.h"
#include "bench/relay/launch.h"
#include "bench/relay/server_usage.h"
#include "throttle/limits/quota/open_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

constexpr ModelQuota kNoLimitIsMet{.max_rpm = kMuch, .max_tpm = kMuch, .max_rpd = kMuch};
constexpr const char* kModel = "gpt-4o";
constexpr uint64_t kCallers = 50;

QuotaConfig Config(bool tiers) {
  QuotaConfig config;
  config.quotas[kModel] = kNoLimitIsMet;
  if (tiers) {
    const Limits limits = {{.unit = Limit::Unit::kRequests, .amount = kMuch, .per = std::chrono::hours(1)}};
    config.tiers.default_limits = {.user_model = limits, .model = limits, .instance = limits};
  }
  return config;
}

struct Subject {
  std::string name;
  std::string store;
  pid_t server = 0;  // 0: none
};

// Measures the rate, and the processor time in both processes.
class Meter {
 public:
  explicit Meter(pid_t server) : server_(server) {
    if (server_ > 0) server_from_ = ProcessorTime(server_).value();
  }
  void Report(double count, int repetition, const std::string& scenario, const std::string& subject,
              FigureTables* figures) const {
    const double seconds = ToSeconds(Clock::System().Now() - from_);
    Duration cpu = OwnProcessorTime() - own_from_;
    if (server_ > 0) cpu += ProcessorTime(server_).value() - server_from_;
    figures->Add(repetition, scenario, subject,
                 {{"rate", "1/s", count / seconds}, {"CPU each, server included", "µs", ToSeconds(cpu) * 1e6 / count}});
  }

 private:
  const pid_t server_;
  const TimePoint from_ = Clock::System().Now();
  const Duration own_from_ = OwnProcessorTime();
  Duration server_from_{};
};

class Measurement {
 public:
  Measurement(const Subject& subject, const StoreOptions& options, int repetition, FigureTables* figures)
      : subject_(subject), options_(options), repetition_(repetition), figures_(figures) {}

  Status Run() {
    if (Status s =
            Repeat("take", false, [](QuotaLimiter& l) { return l.Take({.model = kModel, .tokens = 900}).allowed; });
        !s.ok())
      return s;
    const auto reserve = [](QuotaLimiter& l) {
      return l.Commit(l.Reserve({.model = kModel, .tokens = 900}).reservation, 800).ok();
    };
    if (Status s = Repeat("reserve + commit", false, reserve); !s.ok()) return s;
    const auto tiers = [](QuotaLimiter& l) {
      return l.Take({.model = kModel, .tokens = 900, .requester = {.user = "alice", .instance = "gpu-7"}}).allowed;
    };
    if (Status s = Repeat("take, 3 tiers", true, tiers); !s.ok()) return s;
    return subject_.server > 0 ? Together() : Status();
  }

 private:
  Result<std::unique_ptr<QuotaStore>> Open() {
    QuotaStoreSettings settings;
    settings.store = subject_.store;
    settings.redis_timeout = std::chrono::seconds(10);
    return OpenQuotaStore(settings);
  }

  Status Repeat(const std::string& what, bool tiers, const std::function<bool(QuotaLimiter&)>& once) {
    const auto store = Open();
    if (!store.ok()) return store.status();
    QuotaLimiter limiter(*store.value(), Config(tiers));
    if (!once(limiter)) return Status::Error(subject_.name + ": " + what + ": refused");
    const Meter meter(subject_.server);
    const TimePoint end = Clock::System().Now() + options_.time;
    double count = 0;
    while (Clock::System().Now() < end) {
      if (!once(limiter)) return Status::Error(subject_.name + ": " + what + ": refused");
      ++count;
    }
    meter.Report(count, repetition_, what + ", 1 caller", subject_.name, figures_);
    return {};
  }

  Status Together() {
    const auto store = Open();
    if (!store.ok()) return store.status();
    Pipeline pipeline(*store.value(),
                      {.model = kModel, .mode = Charge::Mode::kTake, .tokens = 900, .default_quota = kNoLimitIsMet});
    if (pipeline.Run(1000, kCallers).failed > 0) return Status::Error(subject_.name + ": refused");
    const Meter meter(subject_.server);
    const TimePoint end = Clock::System().Now() + options_.time;
    double count = 0;
    while (Clock::System().Now() < end) {
      const Pipeline::Result result = pipeline.Run(5000, kCallers);
      if (result.failed > 0) return Status::Error(subject_.name + ": refused");
      count += static_cast<double>(result.answered);
    }
    meter.Report(count, repetition_, "take, " + std::to_string(kCallers) + " under way", subject_.name, figures_);
    return {};
  }

  const Subject& subject_;
  const StoreOptions& options_;
  const int repetition_;
  FigureTables* const figures_;
};

}  // namespace

Status MeasureStores(const StoreOptions& options, FigureTables* figures) {
  for (int repetition = 1; repetition <= options.repetitions; ++repetition) {
    const auto directory = TemporaryDirectory::Make(options.scratch);
    if (!directory.ok()) return directory.status();
    const auto redis = RedisProcess::Start(directory.value()->path());
    if (!redis.ok()) return redis.status();
    const std::string path = directory.value()->path().string();
    for (const Subject& subject : {Subject{"memory", "memory"}, Subject{"yaml", "yaml:" + path + "/quota.yaml"},
                                   Subject{"sqlite", "sqlite:" + path + "/quota.db"},
                                   Subject{"redis", redis.value()->url(), redis.value()->pid()}}) {
      std::fprintf(stderr, "[%d/%d] %s\n", repetition, options.repetitions, subject.name.c_str());
      if (Status status = Measurement(subject, options, repetition, figures).Run(); !status.ok()) return status;
    }
  }
  return {};
}

}  // namespace weir
