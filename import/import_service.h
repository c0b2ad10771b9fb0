// ImportService: POST /api/import and GET /api/export on a relay's port.
//
//   curl -X POST -T events.jsonl http://127.0.0.1:3334/api/import
//   curl -G http://127.0.0.1:3334/api/export --data-urlencode 'filter={"kinds":[1]}' -d order=newest > notes.jsonl
//
// For administrators only (relay/admin.h): from this machine, or with NIP-98 by the admin's key. At most four of each
// run at once; one more is answered 503 with Retry-After.
//
// POST /api/import[?verify=false]   body: JSONL, also with Content-Encoding gzip or zstd. Answer: lines of JSON while
// it goes on, at least two a second while something changes, and one in five seconds while nothing does. A client has
// to read them while it sends: where it does not, the body is not read either. A zstd frame may need a window of 8 MiB
// (--long=23) at most.
//
//   {"reject":{"line":17,"outcome":"invalid","reason":"…"}}    before the first progress that covers its line
//   {"progress":{"lines":1200,"bytes":816000,"imported":1190,"duplicate":9, … one for each LineOutcome by KeyOf …,
//                "level":0.41,"limiting":"l0","delay_ms":0.0,"latency_ms":3.1,"throttled":0,"throttled_ms":0.0,"problem":""}}
//                                                                lines: of the body, from its begin, that are settled
//   {"done":{…as progress…}}   or   {"error":"…"}              the last line
//   {"error":"…","lasting":true}                               instead, where trying again is of no use: a damaged
//                                                              database
//
// A line that is settled is stored, and as durable as WEIR_DB_SYNC says. After an error the client sends again what was
// not settled; what was stored all the same is a duplicate then. Where the error is the first thing to say the status
// is 400 for data that is damaged and 503 for a relay that cannot go on, else it is 200 whatever comes.
//
// GET /api/export[?filter=…&since=…&until=…&order=arrival|oldest|newest]   may name several filters; events as JSONL.
// An answer that breaks off has no last chunk: the client sees that it is not whole.
#pragma once

#include <memory>

#include "relay/relay_part.h"

namespace weir {

class ImportService final : public RelayPart {
 public:
  ImportService();
  ~ImportService() override;

  void AddRoutes(HttpRouter& router) override;
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
