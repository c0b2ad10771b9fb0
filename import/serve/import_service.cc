#include "import/serve/import_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "import/serve/export_session.h"
#include "import/serve/import_post.h"
#include "relay/admin/admin.h"

namespace weir {
namespace {

// The window of an export by kOldest. It is small, because it stays in memory while a slow client reads.
constexpr ExportWindow kWindow{.events = 1000, .bytes = 512 << 10};
// The reaper notices within this time that a run has had no POST for too long.
constexpr std::chrono::milliseconds kLookEvery{500};

HttpResponse BadRequest(const Status& status) {
  return {.status = 400, .body = status.message() + "\n", .headers = {}};
}

HttpResponse TooMany(std::string_view what, const RunningLimit& limit) {
  return {
      .status = 503,
      .body = std::to_string(limit.most()) + " " + std::string(what) + " are running, and no more may run at once\n",
      .headers = {{"Retry-After", "5"}}};
}

// Returns the compression for a Content-Encoding; nullopt if the coding is not known.
std::optional<Compression> CompressionNamed(std::string_view coding) {
  if (coding.empty() || coding == "identity") return Compression::kNone;
  if (coding == "gzip" || coding == "x-gzip") return Compression::kGzip;
  if (coding == "zstd") return Compression::kZstd;
  return std::nullopt;
}

// Returns the size of the whole import; 0 if it is not known: for a run of requests, and for compressed data.
uint64_t WholeBytesOf(const ImportQuery& query, const HttpRequest& head) {
  if (!query.run.empty() || CompressionNamed(head.Header("content-encoding")) != Compression::kNone) return 0;
  const Result<uint64_t> length = ParseUnsigned(head.Header("content-length"), {.min = 0, .max = 1e18});
  return length.ok() ? length.value() : 0;
}

// "1.2 MB, 40 %".
std::string BytesOfWhole(uint64_t bytes, uint64_t whole) {
  if (whole == 0) return ReadableBytes(bytes);
  return ReadableBytes(bytes) + ", " + std::to_string(std::min<uint64_t>(100, 100 * bytes / whole)) + " %";
}

}  // namespace

ImportService::Begun ImportService::Import(const HttpRequest& head, HttpExchange& exchange) {
  if (auto refusal = services_->admin.Refusal(head, AdminRight::kAll)) return *std::move(refusal);
  const Result<ImportQuery> query = ParseImportQuery(head.query);
  if (!query.ok()) return BadRequest(query.status());
  const std::optional<Compression> compression = CompressionNamed(head.Header("content-encoding"));
  if (!compression) {
    return HttpResponse{.status = 415,
                        .body = "Content-Encoding may be gzip or zstd, or none\n",
                        .headers = {{"Accept-Encoding", "gzip, zstd"}}};
  }
  std::shared_ptr<ImportPost> post;
  {
    const MutexLock lock(mutex_);
    std::shared_ptr<ImportFlow> flow = query.value().part > 0 ? FlowOf(query.value()) : nullptr;
    if (query.value().part > 0 && flow == nullptr) {
      return HttpResponse{.status = 409,
                          .body = "this part is not the next part of its run; begin another run with part 0\n",
                          .headers = {}};
    }
    std::unique_ptr<RunningLimit::Slot> slot;
    if (flow == nullptr || !flow->has_slot()) {
      slot = imports_.Take();
      if (slot == nullptr) return TooMany("imports", imports_);
    }
    if (flow == nullptr) flow = BeginFlow(query.value(), head);
    post = std::make_shared<ImportPost>(flow, query.value().part, *compression, exchange);
    flow->Enter(post, std::move(slot));
  }
  post->Start();
  return post;
}

// Returns null if the part is not the next one.
std::shared_ptr<ImportFlow> ImportService::FlowOf(const ImportQuery& query) const {
  const auto found = std::ranges::find(flows_, query.run, &Flow::run);
  return found != flows_.end() && found->flow->Expects(query.part) ? found->flow : nullptr;
}

std::shared_ptr<ImportFlow> ImportService::BeginFlow(const ImportQuery& query, const HttpRequest& head) {
  auto flow = std::make_shared<ImportFlow>(ImportFlowParts{.services = *services_,
                                                           .pool = *pool_,
                                                           .counters = counters_,
                                                           .verify = query.verify,
                                                           .is_run = !query.run.empty(),
                                                           .party = last_party_.fetch_add(2) + 1,
                                                           .address = head.address,
                                                           .whole_bytes = WholeBytesOf(query, head),
                                                           .traceparent = std::string(head.Header("traceparent")),
                                                           .on_idle = [this] {
                                                             const MutexLock lock(mutex_);
                                                             look_ = true;
                                                             changed_.notify_all();
                                                           }});
  // An earlier run of this name may not be retired yet. The next parts belong to the new run.
  for (Flow& one : flows_)
    if (one.run == query.run) one.run.clear();
  flows_.push_back({query.run, flow});
  return flow;
}

ImportService::Begun ImportService::Export(const HttpRequest& head, HttpExchange& exchange) {
  if (auto refusal = services_->admin.Refusal(head, AdminRight::kAll)) return *std::move(refusal);
  RelayContext& context = services_->context;
  Result<ExportPlan> plan = ParseExportQuery(head.query, {.max_values = context.settings.max_filter_values});
  if (!plan.ok()) return BadRequest(plan.status());
  plan.value().now_seconds = context.wall_clock.NowSeconds();
  if (head.method == "HEAD") return HttpResponse{.content_type = kJsonLines, .body = "", .headers = {}};
  if (context.limiter.View().emergency) {
    return HttpResponse{.status = 503,
                        .body = "memory is short on this relay: no export begins until it has recovered\n",
                        .headers = {{"Retry-After", "5"}}};
  }
  plan.value().window = kWindow;
  std::unique_ptr<RunningLimit::Slot> slot = exports_.Take();
  if (slot == nullptr) return TooMany("exports", exports_);
  auto session = std::make_shared<ExportSession>(
      ExportSessionParts{.context = context,
                         .pool = *pool_,
                         .counters = counters_,
                         .plan = std::move(plan).value(),
                         .party = {.id = last_party_.fetch_add(2) + 1, .work_class = WorkClass::kBulk},
                         .address = head.address,
                         .slot = std::move(slot)},
      exchange);
  {
    const MutexLock lock(mutex_);
    std::erase_if(sessions_, [](const auto& one) { return one.expired(); });
    sessions_.push_back(session);
  }
  session->Start();
  return session;
}

// Retires the flows that are over. This waits for their tasks and writes, so it may not run on an I/O thread.
void ImportService::RunReaper() {
  MutexLock lock(mutex_);
  while (!stopping_ || !flows_.empty()) {
    const auto due = [this]() WEIR_REQUIRES(mutex_) { return stopping_ || look_; };
    if (flows_.empty()) {
      changed_.wait(lock, due);
    } else {
      changed_.wait_for(lock, kLookEvery, due);
    }
    std::vector<Flow> over = TakeThoseThatAreOver();
    lock.unlock();
    for (const Flow& one : over) one.flow->Retire();
    over.clear();
    lock.lock();
  }
}

std::vector<ImportService::Flow> ImportService::TakeThoseThatAreOver() {
  look_ = false;
  const auto over = std::partition(flows_.begin(), flows_.end(), [this](const Flow& one) WEIR_REQUIRES(mutex_) {
    return !stopping_ && !one.flow->IsOver();
  });
  std::vector<Flow> taken(std::make_move_iterator(over), std::make_move_iterator(flows_.end()));
  flows_.erase(over, flows_.end());
  return taken;
}

int64_t ImportService::ThrottledNs() const {
  const MutexLock lock(mutex_);
  int64_t ns = counters_.throttled_ns.load();
  for (const Flow& one : flows_) ns += one.flow->Conditions().throttled_time.count();
  return ns;
}

void ImportService::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (reaper_.joinable()) reaper_.join();
  exports_.WaitForNone();
  pool_.reset();
}

void ImportService::AddRoutes(HttpRouter& router) {
  router.AddStream("POST", "/api/import",
                   [this](const HttpRequest& head, HttpExchange& exchange) { return Import(head, exchange); });
  router.AddStream("GET", "/api/export",
                   [this](const HttpRequest& head, HttpExchange& exchange) { return Export(head, exchange); });
}

Status ImportService::Start(const RelayServices& services) {
  services_.emplace(services);
  pool_ = std::make_unique<WorkPool>(std::max<size_t>(1, services.context.pool.threads() - 1), WorkPool::kBulkNice);
  {
    const MutexLock lock(mutex_);
    stopping_ = false;
  }
  reaper_ = std::thread([this] { RunReaper(); });
  return Status();
}

void ImportService::AppendMetrics(MetricFamilies& families) const {
  families
      .Gauge("weir_imports_running", "Imports over HTTP that are under way, until nothing of them is left to be saved.")
      .Add(imports_.running());
  families.Counter("weir_import_lines_total", "Lines of imports over HTTP that are settled, by outcome.");
  for (size_t i = 0; i < kLineOutcomes; ++i)
    families.Add(counters_.lines[i].load(), {{"outcome", KeyOf(static_cast<LineOutcome>(i))}});
  families.Counter("weir_import_bytes_total", "Bytes of the settled lines of imports over HTTP, without compression.")
      .Add(counters_.bytes.load());
  families.Counter("weir_import_throttled_seconds_total", "Time that imports over HTTP waited at the write gate.")
      .Add(static_cast<double>(ThrottledNs()) * 1e-9);
  families.Gauge("weir_exports_running", "Exports over HTTP that are under way.").Add(exports_.running());
  families.Counter("weir_export_events_total", "Events that exports over HTTP have read.")
      .Add(counters_.export_events.load());
}

void ImportService::AppendLive(LiveTables& tables) const {
  // These pointers may become the last to their sessions. They are destroyed after the lock, so that no session is
  // destroyed while mutex_ is locked.
  std::vector<std::shared_ptr<const ExportSession>> sessions;
  const MutexLock lock(mutex_);
  LiveTable& imports = tables.Add("imports", "Imports",
                                  {{"from"},
                                   {"for", true},
                                   {"lines", true},
                                   {"a second", true},
                                   {"imported", true},
                                   {"rejected", true},
                                   {"bytes", true},
                                   {"waited", true},
                                   {"by what it waits"}},
                                  "no import runs");
  for (const Flow& one : flows_) {
    const auto [tally, took] = one.flow->SoFar();
    const ImportConditions conditions = one.flow->Conditions();
    const double lines = static_cast<double>(tally.read()) / std::max(ToSeconds(took), 0.001);
    imports.AddRow({one.flow->parts().address, ClockTime(took), ShortNumber(tally.read()), ShortNumber(AsCount(lines)),
                    ShortNumber(tally[LineOutcome::kImported]), ShortNumber(tally.rejected()),
                    BytesOfWhole(tally.bytes, one.flow->parts().whole_bytes), ClockTime(conditions.throttled_time),
                    conditions.problem.empty() ? conditions.limiting : Printable(conditions.problem)});
  }
  LiveTable& exports = tables.Add("exports", "Exports", {{"to"}, {"for", true}, {"events", true}});
  for (const auto& weak : sessions_) {
    const auto& session = sessions.emplace_back(weak.lock());
    if (session != nullptr && !session->is_over())
      exports.AddRow({session->address(), ClockTime(session->took()), ShortNumber(session->events())});
  }
}

}  // namespace weir
