#include "import/import_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "import/export_session.h"
#include "import/import_session.h"
#include "import/query_string.h"
#include "import/running_limit.h"
#include "relay/admin.h"

namespace weir {
namespace {

// Of each kind. An import holds a few megabytes and a thread, an export a snapshot of the database.
constexpr uint64_t kMostAtOnce = 4;
// Below the relay's own workers: imports and exports have what these leave.
constexpr int kNice = 15;
// Above all that connections have.
constexpr uint64_t kFirstParty = uint64_t{1} << 62;

HttpResponse BadRequest(const Status& status) {
  return {.status = 400, .body = status.message() + "\n", .headers = {}};
}

HttpResponse TooMany(std::string_view what) {
  return {.status = 503,
          .body = std::to_string(kMostAtOnce) + " " + std::string(what) + " are running, which is the most at once\n",
          .headers = {{"Retry-After", "5"}}};
}

// Nothing where there is no such coding.
std::optional<Compression> CompressionNamed(std::string_view coding) {
  if (coding.empty() || coding == "identity") return Compression::kNone;
  if (coding == "gzip" || coding == "x-gzip") return Compression::kGzip;
  if (coding == "zstd") return Compression::kZstd;
  return std::nullopt;
}

}  // namespace

struct ImportService::Rep {
  using Begun = std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>;

  Begun Import(const HttpRequest& head, HttpExchange& exchange);
  Begun Export(const HttpRequest& head, HttpExchange& exchange);
  void RetireLater(std::shared_ptr<ImportSession> session);
  void RunReaper();
  void Stop();

  std::optional<RelayServices> services;
  std::unique_ptr<WorkPool> pool;  // while started
  ImportCounters counters;
  RunningLimit imports{kMostAtOnce};
  RunningLimit exports{kMostAtOnce};
  std::atomic<uint64_t> last_party{kFirstParty};

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<ImportSession>> retired;
  bool stopping = false;
  std::thread reaper;
};

ImportService::Rep::Begun ImportService::Rep::Import(const HttpRequest& head, HttpExchange& exchange) {
  if (auto refusal = services->admin.Refusal(head)) return *std::move(refusal);
  const Result<bool> verify = ParseImportQuery(head.query);
  if (!verify.ok()) return BadRequest(verify.status());
  const std::string_view coding = head.Header("content-encoding");
  const std::optional<Compression> compression = CompressionNamed(coding);
  if (!compression) {
    return HttpResponse{.status = 415,
                        .body = "Content-Encoding may be gzip or zstd, or none\n",
                        .headers = {{"Accept-Encoding", "gzip, zstd"}}};
  }
  std::unique_ptr<RunningLimit::Slot> slot = imports.Take();
  if (slot == nullptr) return TooMany("imports");
  auto session = std::make_shared<ImportSession>(
      ImportSessionParts{.services = *services,
                         .pool = *pool,
                         .counters = counters,
                         .verify = verify.value(),
                         .compression = *compression,
                         .party = last_party.fetch_add(2) + 1,
                         .address = head.address,
                         .slot = std::move(slot),
                         .retire = [this](std::shared_ptr<ImportSession> over) { RetireLater(std::move(over)); }},
      exchange);
  session->Start();
  return session;
}

ImportService::Rep::Begun ImportService::Rep::Export(const HttpRequest& head, HttpExchange& exchange) {
  if (auto refusal = services->admin.Refusal(head)) return *std::move(refusal);
  RelayContext& context = services->context;
  Result<ExportPlan> plan = ParseExportQuery(head.query, {.max_values = context.settings.max_filter_values});
  if (!plan.ok()) return BadRequest(plan.status());
  plan.value().now_seconds = context.wall_clock.NowSeconds();
  if (head.method == "HEAD") return HttpResponse{.content_type = kJsonLines, .body = "", .headers = {}};
  std::unique_ptr<RunningLimit::Slot> slot = exports.Take();
  if (slot == nullptr) return TooMany("exports");
  auto session = std::make_shared<ExportSession>(
      ExportSessionParts{.context = context,
                         .pool = *pool,
                         .counters = counters,
                         .plan = std::move(plan).value(),
                         .party = {.id = last_party.fetch_add(2) + 1, .work_class = WorkClass::kBulk},
                         .address = head.address,
                         .slot = std::move(slot)},
      exchange);
  session->Start();
  return session;
}

void ImportService::Rep::RetireLater(std::shared_ptr<ImportSession> session) {
  const std::lock_guard lock(mutex);
  retired.push_back(std::move(session));
  changed.notify_all();
}

// Ending an import waits for its tasks and its write, which no I/O thread may do.
void ImportService::Rep::RunReaper() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return stopping || !retired.empty(); });
    if (retired.empty()) return;
    const std::shared_ptr<ImportSession> session = std::move(retired.front());
    retired.pop_front();
    lock.unlock();
    session->Retire();
    lock.lock();
  }
}

void ImportService::Rep::Stop() {
  {
    std::unique_lock lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  if (reaper.joinable()) reaper.join();
  exports.WaitForNone();
  pool.reset();
}

ImportService::ImportService() : rep_(std::make_unique<Rep>()) {}

ImportService::~ImportService() { rep_->Stop(); }

void ImportService::AddRoutes(HttpRouter& router) {
  Rep* const rep = rep_.get();
  router.AddStream("POST", "/api/import",
                   [rep](const HttpRequest& head, HttpExchange& exchange) { return rep->Import(head, exchange); });
  router.AddStream("GET", "/api/export",
                   [rep](const HttpRequest& head, HttpExchange& exchange) { return rep->Export(head, exchange); });
}

Status ImportService::Start(const RelayServices& services) {
  rep_->services.emplace(services);
  rep_->pool = std::make_unique<WorkPool>(std::max<size_t>(1, services.context.pool.threads() - 1), kNice);
  rep_->stopping = false;
  rep_->reaper = std::thread([rep = rep_.get()] { rep->RunReaper(); });
  return Status();
}

void ImportService::Stop() { rep_->Stop(); }

void ImportService::AppendMetrics(MetricFamilies& families) const {
  const ImportCounters& counters = rep_->counters;
  families
      .Gauge("weir_imports_running", "Imports over HTTP that are under way, until nothing of them is left to be saved.")
      .Add(rep_->imports.running());
  families.Counter("weir_import_lines_total", "Lines of imports over HTTP that are settled, by what became of them.");
  for (size_t i = 0; i < kLineOutcomes; ++i)
    families.Add(counters.lines[i].load(), {{"outcome", KeyOf(static_cast<LineOutcome>(i))}});
  families.Counter("weir_import_bytes_total", "Bytes of these lines, without compression.").Add(counters.bytes.load());
  families.Counter("weir_import_throttled_seconds_total", "Time that imports over HTTP waited at the write gate.")
      .Add(static_cast<double>(counters.throttled_ns.load()) * 1e-9);
  families.Gauge("weir_exports_running", "Exports over HTTP that are under way.").Add(rep_->exports.running());
  families.Counter("weir_export_events_total", "Events that exports over HTTP have read.")
      .Add(counters.export_events.load());
}

}  // namespace weir
