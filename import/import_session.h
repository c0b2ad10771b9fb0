// ImportSession: one POST /api/import, from its head to the last line of its answer.
//
// Body → (worker: Decoder, LineSplitter) → Pipeline → answer. What is under way is bounded: the body is not read on
// while much of it is, nor while the client does not take its answer.
//
// Threads: the functions of HttpStreamHandler, and whatever touches the exchange, on the connection's I/O thread; the
// body is taken apart by one task of the workers at a time; OnSettled on the pipeline's thread; Retire on a thread that
// may wait.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "import/decoder.h"
#include "import/import_answer.h"
#include "import/line_splitter.h"
#include "import/pipeline.h"
#include "import/running_limit.h"
#include "relay/relay_part.h"
#include "relay/server/http_stream.h"

namespace weir {

// Of all imports and exports of a relay, for its metrics.
struct ImportCounters {
  std::array<std::atomic<uint64_t>, kLineOutcomes> lines{};
  std::atomic<uint64_t> bytes{0};
  std::atomic<int64_t> throttled_ns{0};
  std::atomic<uint64_t> export_events{0};
};

inline constexpr const char* kJsonLines = "application/x-ndjson";

class ImportSession;

struct ImportSessionParts {
  RelayServices services;
  WorkPool& pool;
  ImportCounters& counters;
  bool verify = true;
  Compression compression = Compression::kNone;
  uint64_t party = 0;  // this one and the next are its own
  std::string address;
  std::unique_ptr<RunningLimit::Slot> slot;  // given back by Retire
  // Called once, on the I/O thread, when nothing will be answered any more: Retire has to be called elsewhere.
  std::function<void(std::shared_ptr<ImportSession>)> retire;
};

class ImportSession final : public HttpStreamHandler, public std::enable_shared_from_this<ImportSession> {
 public:
  ImportSession(ImportSessionParts parts, HttpExchange& exchange);
  ~ImportSession() override;

  void Start();

  void OnBody(std::string_view piece) override;
  void OnBodyEnd() override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

  // Gives up what is not settled, waits for what is under way, and logs how it ended.
  void Retire();

 private:
  struct News {
    std::string rejects;  // as lines
    Tally tally;
    bool all_settled = false;  // what was pushed so far
    bool whole = false;        // and nothing will follow
    Status error;              // of the data
  };

  // On the I/O thread.
  void Advance();
  bool WantsMore();
  bool Clogged();
  void Feed();
  void PauseOrResume();
  void WaitForTick();
  void OnTick();
  void OnNews();
  News TakeNews();
  void AppendNewProgress(const News& news, std::string* text);
  void Say(std::string_view text, int status = 200);
  void EndWith(ImportError error, int status);
  void Finish(const News& news, const ImportError& error, int status);
  void GiveUp(std::string cause);
  ImportProgress ProgressOf(const News& news) const;

  // On a worker.
  void RunFeed();
  Status TakeApart();
  Status Decode();
  bool piece_is_done() const { return piece_at_ == piece_.size() && text_at_ == text_.size(); }
  void Push(Chunk chunk);

  void OnSettled(SettledChunk settled);
  void CountThrottled();
  std::string Summary() const;

  struct Ending {
    ImportError error;
    int status = 0;
  };

  ImportSessionParts parts_;
  const TimePoint began_;
  const HttpPoster post_;
  std::unique_ptr<Pipeline> pipeline_;

  // Of the I/O thread.
  HttpExchange* exchange_;
  std::optional<boost::asio::steady_timer> timer_;
  std::string inbox_;
  std::string last_progress_;
  TimePoint progress_at_{};
  std::string cause_;  // why it broke off; empty: it did not
  bool body_ended_ = false;
  bool arrived_ = false;  // something, since the last tick
  bool paused_ = false;
  bool full_ = false;             // as much is under way as may be
  bool clogged_ = false;          // the client does not take its answer
  std::optional<Ending> ending_;  // to be told when the client takes its answer
  bool begun_ = false;
  bool over_ = false;
  Duration throttled_{};  // that was counted; at last Retire's

  // Of whoever feeds: the worker while feeding_, else the I/O thread.
  const std::unique_ptr<Decoder> decoder_;
  LineSplitter splitter_;
  std::string piece_;
  size_t piece_at_ = 0;
  bool piece_is_last_ = false;
  std::string text_;  // of the piece, without compression
  size_t text_at_ = 0;
  uint64_t pushed_weight_ = 0;
  bool flush_ = false;

  std::atomic<uint64_t> under_way_{0};  // as WeightOf counts

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable fed_;
  bool feeding_ = false;
  bool all_fed_ = false;
  bool news_posted_ = false;
  uint64_t pushed_ = 0;  // chunks
  uint64_t settled_ = 0;
  Tally tally_;
  std::string rejects_;
  Status error_;
};

}  // namespace weir
