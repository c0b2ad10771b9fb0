#include "relay/census_plugin.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "relay/admin/admin.h"
#include "relay/net/http_error.h"
#include "relay/store/census/census_tables.h"

namespace weir {
namespace {

constexpr size_t kDaysShown = 8;

}  // namespace

void CensusPlugin::AddRoutes(HttpRouter& router) {
  router.Add("GET", "/api/info", [this](const HttpRequest& request) { return Info(request); });
}

Status CensusPlugin::Start(const RelayServices& services) {
  admin_ = &services.admin;
  if (!IsEmbedded(services.configuration.storage)) return Status();
  RelayContext& context = services.context;
  clock_ = &context.clock;
  wall_clock_ = &context.wall_clock;
  reads_ = std::make_unique<BulkReads>(context.store, AdmitAsBulk(context.limiter, Operation::kRead));
  thread_ = std::thread([this] { Run(); });
  return Status();
}

void CensusPlugin::Stop() {
  if (!thread_.joinable()) return;
  reads_->Stop();
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

CensusPlugin::Taken CensusPlugin::Wanted() const {
  const MutexLock lock(mutex_);
  if (IsDue()) {
    wanted_ = true;
    changed_.notify_all();
  }
  return census_;
}

bool CensusPlugin::IsDue() const { return !due_ || clock_->Now() >= *due_; }

void CensusPlugin::Run() {
  while (true) {
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return wanted_ || stopped_; });
      if (stopped_) return;
    }
    Take();
  }
}

void CensusPlugin::Take() {
  const Result<Census> census = FaultsAsErrors<Census>([this] {
    return TakeCensus(reads_->store(),
                      {.now_seconds = wall_clock_->NowSeconds(), .await = [this] { return reads_->Await(); }});
  });
  const MutexLock lock(mutex_);
  wanted_ = false;
  due_ = clock_->Now() + (census.ok() ? kFresh : kRetryAfter);
  if (census.ok()) {
    ++taken_;
    census_ = std::make_shared<const Census>(census.value());
  } else if (!stopped_) {
    ++failed_;
    spdlog::warn("cannot count what is stored: {}", census.status().message());
  }
}

HttpResponse CensusPlugin::Info(const HttpRequest& request) const {
  if (std::optional<HttpResponse> refusal = admin_->Refusal(request, AdminRight::kRead)) return *refusal;
  if (reads_ == nullptr)
    return ErrorResponse(409, "not_embedded", "the events are in PostgreSQL; `weir info` asks the server");
  if (const Taken census = Wanted()) return JsonResponse(200, CensusJson(*census));
  HttpResponse answer = ErrorResponse(503, "not_ready", "the relay is counting what is stored; ask again in a moment");
  answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

void CensusPlugin::AppendMetrics(MetricFamilies& families) const {
  families.Counter("weir_censuses_total", "How often the relay has counted what is stored, by the outcome");
  families.Add(taken_.load(), {{"outcome", "taken"}});
  families.Add(failed_.load(), {{"outcome", "failed"}});
}

void CensusPlugin::AppendLive(LiveTables& tables) const {
  if (reads_ == nullptr) return;
  const Taken census = Wanted();
  if (census == nullptr) return;
  AddStoredKinds(*census, LiveTable::kMostRows, &tables);
  AddStoredDays(*census, kDaysShown, &tables);
}

}  // namespace weir
