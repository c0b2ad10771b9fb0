// ImportService: POST /api/import and GET /api/export on a relay's port.
//
//   curl -X POST -T events.jsonl http://127.0.0.1:3334/api/import
//   curl -G http://127.0.0.1:3334/api/export --data-urlencode 'filter={"kinds":[1]}' -d order=newest > notes.jsonl
//
// For administrators only (relay/operator/admin.h): with the relay's token, with NIP-98 by the admin's key, or from
// this machine if the operator allows it. At most four of each run at once; one more is answered 503 with Retry-After.
//
// POST /api/import[?verify=false]   body: JSONL of any size, also with Content-Encoding gzip or zstd, read as it is
// imported. A zstd frame may need a window of 8 MiB (--long=23) at most. It is answered when all of it is settled, in
// lines of JSON:
//
//   {"progress":{"lines":1200,"bytes":816000,"imported":1190,"duplicate":9, … one for each LineOutcome by KeyOf …,
//                "level":0.41,"limiting":"l0","delay_ms":0.0,"latency_ms":3.1,"throttled":0,"throttled_ms":0.0,"problem":""}}
//                                       each second until then. lines: of the body, from its start, that are settled
//   {"reject":{"line":17,"outcome":"invalid","reason":"…"}}    each rejected line; the first 10,000 of them
//   {"done":{…as progress…}}   or   {"error":"…"}              the last line
//   {"error":"…","lasting":true}                               instead, if trying again is useless: a damaged
//                                                              database
//
// A line that is settled is stored, as durably as WEIR_DB_SYNC says; at "done" all are on disk. After an error the
// client sends again what was not settled; lines that were stored all the same are duplicates then. If the error is the
// first thing to say, the status is 400 for damaged data and 503 for a relay that cannot go on; else it is 200,
// whatever comes.
//
// POST /api/import?run=NAME&part=N   for `weir import`: the parts 0, 1, … of one import, each a POST with an answer of
// its own. A part may be sent when the relay has begun to read the one before (100 Continue); they are saved in their
// order. 409 says that it is not the next one (the relay was started anew, the run rested for 5 s): begin another run.
//
// GET /api/export[?filter=…&since=…&until=…&order=arrival|oldest|newest]   may name several filters; events as JSONL.
// An answer that breaks off has no last chunk: the client sees that it is not whole.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "import/serve/import_flow.h"
#include "import/serve/query_string.h"
#include "import/serve/running_limit.h"
#include "relay/relay_part.h"

namespace weir {

class ExportSession;

class ImportService final : public RelayPart {
 public:
  ~ImportService() override { Stop(); }

  void AddRoutes(HttpRouter& router) override;
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  struct Flow {
    std::string run;  // may be empty
    std::shared_ptr<ImportFlow> flow;
  };
  using Begun = std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>;

  // The limit of each kind. An import holds a few megabytes and a thread.
  static constexpr uint64_t kMostAtOnce = ImportFlow::kMostAtOnce;
  // Parties of imports and exports begin above all that connections have.
  static constexpr uint64_t kFirstParty = uint64_t{1} << 62;

  Begun Import(const HttpRequest& head, HttpExchange& exchange);
  Begun Export(const HttpRequest& head, HttpExchange& exchange);
  std::shared_ptr<ImportFlow> FlowOf(const ImportQuery& query) const;
  std::shared_ptr<ImportFlow> BeginFlow(const ImportQuery& query, const HttpRequest& head);
  void RunReaper();
  void RetireThoseThatAreOver(std::unique_lock<std::mutex>& lock);
  int64_t ThrottledNs() const;

  std::optional<RelayServices> services_;
  std::unique_ptr<WorkPool> pool_;  // while started
  ImportCounters counters_;
  RunningLimit imports_{kMostAtOnce};
  RunningLimit exports_{kMostAtOnce};
  std::atomic<uint64_t> last_party_{kFirstParty};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Flow> flows_;
  std::vector<std::weak_ptr<const ExportSession>> sessions_;  // running ones, and some that ended
  bool look_ = false;                                         // a flow may be over
  bool stopping_ = false;
  std::thread reaper_;
};

}  // namespace weir
