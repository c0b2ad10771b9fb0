// CensusPlugin: the part of a relay (RelayPlugin) that says what takes the room in its store (relay/store/census/): at
// /live, and as JSON at GET /api/info, both for administrators.
//
// It takes a census only if an administrator looks at /live or asks, and if the last one is older than six hours. It
// reads as bulk work, in slices that the limiter admits one by one, so it stands still in an emergency.
//
// A relay on PostgreSQL takes none, because the server cannot answer its statements in slices; `weir info` asks the
// server when an operator calls it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/relay_plugin.h"
#include "relay/store/bulk_reads.h"
#include "relay/store/census/census.h"

namespace weir {

class CensusPlugin final : public RelayPlugin {
 public:
  static constexpr Duration kFresh = std::chrono::hours(6);
  static constexpr Duration kRetryAfter = std::chrono::minutes(1);  // after a failure

  ~CensusPlugin() override { Stop(); }

  // Adds GET /api/info. The answer is that of `weir info --json` with 20 authors and tag values, or 503 while the first
  // census is being taken, or 409 on PostgreSQL.
  void AddRoutes(HttpRouter& router) override;
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  using Taken = std::shared_ptr<const Census>;

  HttpResponse Info(const HttpRequest& request) const;
  // Returns the last census, null if there is none yet, and asks for a new one if it is not fresh.
  Taken Wanted() const;
  bool IsDue() const WEIR_REQUIRES(mutex_);
  void Run();
  void Take();

  const Admin* admin_ = nullptr;
  const Clock* clock_ = nullptr;
  const WallClock* wall_clock_ = nullptr;
  std::unique_ptr<BulkReads> reads_;  // null on PostgreSQL, and before Start
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> failed_{0};

  mutable Mutex mutex_;
  mutable Condition changed_;
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  mutable bool wanted_ WEIR_GUARDED_BY(mutex_) = false;
  Taken census_ WEIR_GUARDED_BY(mutex_);
  std::optional<TimePoint> due_ WEIR_GUARDED_BY(mutex_);  // null: at once
  std::thread thread_;
};

}  // namespace weir
