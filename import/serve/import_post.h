// ImportPost: handles one POST /api/import (import_service.h), from its head to its answer.
//
// Body → (worker: Decoder, LineSplitter) → ImportFlow → tally and rejects, which the answer contains when all lines are
// settled (settled.h). The memory is bounded: the post stops reading the body while too many of its bytes wait, for
// example for the lines of an earlier part.
//
// Threads: Start, the functions of HttpStreamHandler and all code that uses the exchange run on the connection's I/O
// thread. At most one task at a time, on a worker of a pool, divides the body into chunks. The pipeline's thread calls
// OnSettled; any thread may call Notify and BreakOff.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/mutex.h"
#include "import/input/decoder.h"
#include "import/input/line_splitter.h"
#include "import/serve/import_answer.h"
#include "import/serve/import_flow.h"
#include "relay/net/http_stream.h"

namespace weir {

inline constexpr const char* kJsonLines = "application/x-ndjson";

class ImportPost final : public HttpStreamHandler, public std::enable_shared_from_this<ImportPost> {
 public:
  // The most rejected lines for which the answer has a line. The answer only counts the others.
  static constexpr size_t kMostRejects = 10'000;

  ImportPost(std::shared_ptr<ImportFlow> flow, uint32_t part, Compression compression, HttpExchange& exchange);
  ~ImportPost() override;

  void Start();
  uint32_t part() const { return part_; }

  void OnBody(std::string_view piece) override;
  void OnBodyEnd() override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

  // Takes a settled chunk of this POST.
  void OnSettled(const SettledChunk& settled);
  // Makes the I/O thread check whether the post can continue. The flow calls it after each change.
  void Notify();
  // Ends the answer with the error `why`, because another POST of the flow broke off.
  void BreakOff(std::string why);

 private:
  // The progress of the body so far.
  struct State {
    ImportProgress progress;
    bool all_settled = false;  // true if every line that was pushed to the flow is settled
    bool whole = false;        // true if, in addition, every line of the body was pushed
    Status error;              // error in the data; success: there is none
  };

  // These run on the I/O thread.
  void Advance();
  void Feed();
  Party PartyOfFeed() const;
  void PauseOrResume();
  void WaitForTick();
  void OnTick();
  State Now() const;
  void SayProgress();
  void SyncAndFinish();
  void EndWith(const ImportError& error, int status);
  void Finish(const std::string& last_lines, int status, const std::string& cause);
  void Leave(const std::string& cause);

  // These run on a worker.
  void RunFeed();
  Status TakeApart();
  Status Decode();
  bool piece_is_done() const { return piece_at_ == piece_.size() && text_at_ == text_.size(); }
  void Push(Chunk chunk);

  const std::shared_ptr<ImportFlow> flow_;
  const uint32_t part_;
  const HttpPoster post_;

  // Used by the I/O thread.
  HttpExchange* exchange_;
  std::optional<boost::asio::steady_timer> timer_;
  uint64_t ticks_ = 0;
  std::string inbox_;
  bool body_ended_ = false;
  bool arrived_ = false;  // true if bytes came since the last tick
  bool paused_ = false;   // true while the body is not read
  bool begun_ = false;    // true when the answer has begun
  bool syncing_ = false;  // true when all lines are settled and the sync to disk has begun
  bool over_ = false;     // true when the answer has ended

  // Used by the task on a worker while feeding_ is true, else by the I/O thread.
  const std::unique_ptr<Decoder> decoder_;
  LineSplitter splitter_;
  std::string piece_;
  size_t piece_at_ = 0;
  bool piece_is_last_ = false;
  std::string text_;  // decompressed text of the piece
  size_t text_at_ = 0;
  uint64_t pushed_weight_ = 0;
  bool flush_ = false;

  mutable Mutex mutex_;
  bool feeding_ WEIR_GUARDED_BY(mutex_) = false;   // true while a task on the workers divides the body
  bool all_fed_ WEIR_GUARDED_BY(mutex_) = false;   // true when all lines of the body were pushed
  bool notified_ WEIR_GUARDED_BY(mutex_) = false;  // true while a call of Advance is posted
  uint64_t pushed_ WEIR_GUARDED_BY(mutex_) = 0;    // number of chunks that were pushed
  uint64_t settled_ WEIR_GUARDED_BY(mutex_) = 0;   // number of chunks that were settled
  Tally tally_ WEIR_GUARDED_BY(mutex_);
  std::string rejects_ WEIR_GUARDED_BY(mutex_);  // lines of JSON
  size_t named_ WEIR_GUARDED_BY(mutex_) = 0;     // number of rejects so far
  Status error_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
