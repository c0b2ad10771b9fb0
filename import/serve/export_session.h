// ExportSession: answers one GET /api/export (import_service.h). The session exports one slice of events after the
// other (import/export/exporter.h) on the threads of a pool, and pauses while the client does not read.
//
// Each slice needs the limiter's permission, as a bulk scan (throttle/scan_gate.h); a permission is good for some more
// slices while no event comes out. While the session waits for the limiter or for the client, it holds no snapshot of
// the store. It reports the other memory that it holds to the memory monitor (monitors/own_bytes.h).
//
// If the store cannot be read in the middle of the answer, or the relay shuts down, the session closes the connection
// without ending the answer, so the client sees that the answer is not complete.
//
// Threads: Start, the functions of HttpStreamHandler and all code that uses the exchange run on the connection's I/O
// thread. The slices run on the threads of the pool.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/mutex.h"
#include "import/export/exporter.h"
#include "import/serve/import_post.h"
#include "relay/account/running_limit.h"
#include "relay/net/http_stream.h"
#include "relay/protocol/relay_context.h"

namespace weir {

struct ExportSessionParts {
  RelayContext& context;
  WorkPool& pool;
  ImportCounters& counters;
  ExportPlan plan;
  Party party;
  std::string address;
  std::unique_ptr<RunningLimit::Slot> slot;  // released when the session no longer uses the store
};

class ExportSession final : public HttpStreamHandler, public std::enable_shared_from_this<ExportSession> {
 public:
  ExportSession(ExportSessionParts parts, HttpExchange& exchange);
  ~ExportSession() override;

  // Begins the export. Call it once.
  void Start();

  // Any thread may call the next four functions, which are for displays.
  const std::string& address() const { return parts_.address; }
  Duration took() const { return parts_.context.clock.Now() - began_; }
  uint64_t events() const { return events_.load(std::memory_order_relaxed); }
  bool is_over() const { return over_.load(std::memory_order_relaxed); }

  void OnBody(std::string_view) override {}
  void OnBodyEnd() override {}
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

 private:
  // The slices without an event that a permission is good for, at first and at most; a slice takes about a millisecond.
  static constexpr uint32_t kFirstPatience = 16;
  static constexpr uint32_t kMostPatience = 1024;

  struct Piece {
    std::string text;
    uint64_t events = 0;
    bool done = false;
    std::string reached;  // for a later export (Exporter::reached), once the export is done; empty: by another order
    Status wrong;         // an error of the client
    Status status;
  };

  void GoOn();
  void AfterGate();
  void Wait();
  void CountHeld(uint64_t bytes);
  void SubmitSlice();
  void RunSlice();
  Piece NextPiece();
  void OnPiece(const Piece& piece);
  void SubmitWhenTaken();
  void Break(const std::string& cause, int http_status = 503);
  void Release() WEIR_REQUIRES(mutex_);

  ExportSessionParts parts_;
  const HttpPoster post_;
  const TimePoint began_;

  // Used by the I/O thread.
  HttpExchange* exchange_;
  std::atomic<uint64_t> events_{0};
  bool begun_ = false;
  uint32_t empty_slices_ = 0;                       // slices without an event since the limiter's last permission
  uint32_t patience_ = kFirstPatience;              // the number of these that the permission is good for
  bool done_ = false;                               // true when the whole answer was written
  std::atomic<bool> over_{false};                   // true when the session writes no more
  std::optional<boost::asio::steady_timer> retry_;  // must not outlive the exchange

  // Used by the slice that runs on a worker, or else by the I/O thread.
  std::unique_ptr<Exporter> exporter_;
  std::optional<Admission> admission_;
  uint64_t counted_bytes_ = 0;

  Mutex mutex_;
  bool slice_is_out_ WEIR_GUARDED_BY(mutex_) = false;  // true while a slice runs on a worker
  bool gone_ WEIR_GUARDED_BY(mutex_) = false;          // true when the exchange has ended
  bool released_ WEIR_GUARDED_BY(mutex_) = false;      // true when the session no longer uses the store
};

}  // namespace weir
