// ImportService: POST /api/import and GET /api/export on a relay's port.
//
//   curl -X POST -T events.jsonl http://127.0.0.1:3334/api/import
//   curl -G http://127.0.0.1:3334/api/export --data-urlencode 'filter={"kinds":[1]}' -d order=newest > notes.jsonl
//
// Only administrators may use these routes (relay/admin/admin.h): with the relay's token, with the admin's key
// (NIP-98), or from this machine if the operator allows it. At most four imports and four exports run at once; a
// further one gets status 503 with Retry-After. During an emergency of the limiter (throttle/adaptive_limiter.h) no
// export begins (503).
//
// POST /api/import[?verify=false]   The body is JSONL of any size, also with Content-Encoding gzip or zstd. The relay
// reads the body no faster than it imports the lines. A zstd frame may need a window of at most 8 MiB (--long=23). The
// answer consists of lines of JSON and ends when all lines of the body are settled (import/settled.h):
//
//   {"progress":{"lines":1200,"bytes":816000,"imported":1190,"duplicate":9, … one for each LineOutcome by KeyOf …,
//                "level":0.41,"limiting":"l0","delay_ms":0.0,"latency_ms":3.1,"throttled":0,"throttled_ms":0.0,
//                "problem":""}}
//                                       each second. lines: number of settled lines, from the start of the body
//   {"reject":{"line":17,"outcome":"invalid","reason":"…"}}    at the end, for each of the first 10,000 rejected lines
//   {"done":{…as progress…}}   or   {"error":"…"}              the last line
//   {"error":"…","lasting":true}                               instead, if it is useless to send the lines again,
//                                                              for example because the database is damaged
//
// The event of a settled line is stored, as durably as WEIR_DB_SYNC says; at "done" all events are on disk. After an
// error the client should send again the lines that were not settled; if the relay has stored some of them, they count
// as duplicates. If the error comes before the first line of the answer, the status is 400 for damaged data, or 503 if
// the relay cannot continue. Otherwise the status is 200, even if an error comes later.
//
// POST /api/import?run=NAME&part=N   For `weir import`, which sends an import as parts 0, 1, …, each in a POST with an
// answer of its own. A client may send a part when the relay has begun to read the part before (100 Continue); the
// relay saves the parts in their order. Status 409 says that the part is not the next one, for example because the
// relay was restarted, or because the run had no POST for 5 s; the client should begin another run. A part 0 begins
// another run, even if the name is the same; the run that had the name before then gets no further part.
//
// GET /api/export[?filter=…&since=…&until=…&since_serial=…&order=arrival|oldest|newest]   Returns events as JSONL;
// several filters are allowed. The trailer field Weir-Exported-Events has the number of events; by arrival, the trailer
// field Weir-Exported-Serial has the since_serial of a later export. An incomplete answer has neither a last HTTP chunk
// nor these trailers, so the client sees that it is not complete. A since_serial beyond the store's last event is
// refused with 400.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "config/mutex.h"
#include "import/serve/import_flow.h"
#include "import/serve/query_string.h"
#include "relay/account/running_limit.h"
#include "relay/relay_plugin.h"

namespace weir {

class ExportSession;

class ImportService final : public RelayPlugin {
 public:
  ~ImportService() override { Stop(); }

  void AddRoutes(HttpRouter& router) override;
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  struct Flow {
    std::string run;  // name of the run; empty: the import is one POST, or another run has begun under the name
    std::shared_ptr<ImportFlow> flow;
  };
  using Begun = std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>;

  // The most imports, and the most exports, that run at once. An import holds a few megabytes and has a thread.
  static constexpr uint64_t kMostAtOnce = ImportFlow::kMostAtOnce;
  // The values of Party::id of imports and exports are above this one; those of connections are below.
  static constexpr uint64_t kFirstParty = uint64_t{1} << 62;

  Begun Import(const HttpRequest& head, HttpExchange& exchange);
  Begun Export(const HttpRequest& head, HttpExchange& exchange);
  std::shared_ptr<ImportFlow> FlowOf(const ImportQuery& query) const WEIR_REQUIRES(mutex_);
  std::shared_ptr<ImportFlow> BeginFlow(const ImportQuery& query, const HttpRequest& head) WEIR_REQUIRES(mutex_);
  void RunReaper();
  std::vector<Flow> TakeThoseThatAreOver() WEIR_REQUIRES(mutex_);
  int64_t ThrottledNs() const;

  std::optional<RelayServices> services_;
  std::unique_ptr<WorkPool> pool_;  // null unless the service is started
  ImportCounters counters_;
  RunningLimit imports_{kMostAtOnce};
  RunningLimit exports_{kMostAtOnce};
  std::atomic<uint64_t> last_party_{kFirstParty};

  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Flow> flows_ WEIR_GUARDED_BY(mutex_);
  // The sessions that run, and some that have ended.
  std::vector<std::weak_ptr<const ExportSession>> sessions_ WEIR_GUARDED_BY(mutex_);
  bool look_ WEIR_GUARDED_BY(mutex_) = false;  // true if the reaper should look for flows that are over
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread reaper_;
};

}  // namespace weir
