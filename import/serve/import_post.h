// ImportPost: one POST /api/import, from its head to its answer.
//
// Body → (worker: Decoder, LineSplitter) → ImportFlow → tally and rejects, which are answered when all is settled. The
// amount under way is bounded: the body is not read on while too much of it waits, or it is not this one's turn.
//
// Threads: the functions of HttpStreamHandler, and all that touches the exchange, run on the connection's I/O thread;
// one task of the workers at a time takes the body apart; OnSettled is called on the pipeline's thread; Notify and
// BreakOff on any.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "import/input/decoder.h"
#include "import/input/line_splitter.h"
#include "import/serve/import_answer.h"
#include "import/serve/import_flow.h"
#include "relay/server/http_stream.h"

namespace weir {

inline constexpr const char* kJsonLines = "application/x-ndjson";

class ImportPost final : public HttpStreamHandler, public std::enable_shared_from_this<ImportPost> {
 public:
  // Rejects beyond this number are counted, not named.
  static constexpr size_t kMostRejects = 10'000;

  ImportPost(std::shared_ptr<ImportFlow> flow, uint32_t part, Compression compression, HttpExchange& exchange);
  ~ImportPost() override;

  void Start();
  uint32_t part() const { return part_; }

  void OnBody(std::string_view piece) override;
  void OnBodyEnd() override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

  void OnSettled(const SettledChunk& settled);
  // Says that something has changed, in the flow or here.
  void Notify();
  void BreakOff(std::string why);

 private:
  // The progress of the body so far.
  struct State {
    ImportProgress progress;
    bool all_settled = false;  // all that was pushed
    bool whole = false;        // and nothing will follow
    Status error;              // says what is wrong with the data
  };

  // Run on the I/O thread.
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

  // Run on a worker.
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
  bool arrived_ = false;  // something came since the last tick
  bool paused_ = false;
  bool begun_ = false;  // the answer has begun
  bool syncing_ = false;
  bool over_ = false;

  // Used by the feeder: the worker while feeding_, else the I/O thread.
  const std::unique_ptr<Decoder> decoder_;
  LineSplitter splitter_;
  std::string piece_;
  size_t piece_at_ = 0;
  bool piece_is_last_ = false;
  std::string text_;  // text of the piece, without compression
  size_t text_at_ = 0;
  uint64_t pushed_weight_ = 0;
  bool flush_ = false;

  mutable std::mutex mutex_;  // guards what follows
  bool feeding_ = false;
  bool all_fed_ = false;
  bool notified_ = false;
  uint64_t pushed_ = 0;  // chunks
  uint64_t settled_ = 0;
  Tally tally_;
  std::string rejects_;  // lines of JSON
  size_t named_ = 0;     // rejects that rejects_ has had
  Status error_;
};

}  // namespace weir
