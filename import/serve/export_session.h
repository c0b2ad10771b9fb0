// ExportSession: one GET /api/export. Runs a slice at a time on the workers, as long as the client takes the answer.
//
// Each slice passes the scan gate as bulk work, and waits while memory is short. As long as the session waits, for the
// gate or its client, it holds no snapshot; the rest that it holds counts as memory of the program.
//
// If the store cannot be read in the middle of the answer, the connection ends, not the answer: the client sees that it
// does not have all.
//
// Threads: the functions of HttpStreamHandler, and all that touches the exchange, run on the connection's I/O thread.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "import/export/exporter.h"
#include "import/serve/import_post.h"
#include "import/serve/running_limit.h"
#include "relay/protocol/relay_context.h"
#include "relay/server/http_stream.h"

namespace weir {

struct ExportSessionParts {
  RelayContext& context;
  WorkPool& pool;
  ImportCounters& counters;
  ExportPlan plan;
  Party party;
  std::string address;
  std::unique_ptr<RunningLimit::Slot> slot;  // given back when the store is no longer used
};

class ExportSession final : public HttpStreamHandler, public std::enable_shared_from_this<ExportSession> {
 public:
  ExportSession(ExportSessionParts parts, HttpExchange& exchange);
  ~ExportSession() override;

  void Start();

  // For displays; from any thread.
  const std::string& address() const { return parts_.address; }
  Duration took() const { return parts_.context.clock.Now() - began_; }
  uint64_t events() const { return events_.load(std::memory_order_relaxed); }
  bool is_over() const { return over_.load(std::memory_order_relaxed); }

  void OnBody(std::string_view) override {}
  void OnBodyEnd() override {}
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

 private:
  struct Piece {
    std::string text;
    uint64_t events = 0;
    bool done = false;
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
  void Break(const std::string& cause);
  void Release();

  ExportSessionParts parts_;
  const HttpPoster post_;
  const TimePoint began_;

  // Used by the I/O thread.
  HttpExchange* exchange_;
  std::atomic<uint64_t> events_{0};
  bool begun_ = false;
  bool done_ = false;  // all that it has was written
  std::atomic<bool> over_{false};
  std::optional<boost::asio::steady_timer> retry_;  // does not outlive the exchange

  // Used by the slice that is out, if one is.
  std::unique_ptr<Exporter> exporter_;
  std::optional<Admission> admission_;
  uint64_t counted_bytes_ = 0;

  std::mutex mutex_;
  bool slice_is_out_ = false;
  bool gone_ = false;      // the exchange has ended and takes no piece
  bool released_ = false;  // the store is not used any more
};

}  // namespace weir
