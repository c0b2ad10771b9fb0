#include "import/serve/import_post.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace weir {
namespace {

// A worker judges a chunk in about half a millisecond.
constexpr size_t kChunkBytes = 8 << 10;
constexpr size_t kInboxBytes = 128 << 10;

// One task ends after kTextATurn bytes of text, or after lines whose weight is 1/kTurnsPerWindow of the window.
constexpr size_t kTextATurn = 128 << 10;
constexpr uint64_t kTurnsPerWindow = 8;
// The task works in steps: it decodes kDecodedBytes at once, and checks the weight after every kSplitBytes bytes.
constexpr size_t kDecodedBytes = 64 << 10;
constexpr size_t kSplitBytes = 4 << 10;
// The largest window of a zstd frame, as log2 of bytes. One byte from a client can make the decoder allocate a window.
constexpr int kZstdWindow = 23;

constexpr std::chrono::milliseconds kTick{250};
// The post writes its progress every kTicksPerProgress ticks. While the body is paused, only such a write shows that
// the client is gone.
constexpr uint64_t kTicksPerProgress = 4;

SplitterLimits LimitsOf(const RelaySettings& settings) {
  return {.chunk_bytes = kChunkBytes, .max_line_bytes = MaxLineBytes(EventLimitsOf(settings))};
}

// Returns the result of `work`, or an error if `work` throws, so that the client gets an answer in any case.
template <typename Do>
Status WithFaultsAsErrors(Do work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status::Error(std::string("the relay met a fault: ") + e.what());
  }
}

}  // namespace

ImportPost::ImportPost(std::shared_ptr<ImportFlow> flow, uint32_t part, Compression compression, HttpExchange& exchange)
    : flow_(std::move(flow)),
      part_(part),
      post_(exchange.poster()),
      exchange_(&exchange),
      decoder_(Decoder::Make(compression, kZstdWindow)),
      splitter_(LimitsOf(flow_->parts().services.context.settings), part) {}

ImportPost::~ImportPost() = default;

void ImportPost::Start() {
  timer_.emplace(exchange_->executor());
  WaitForTick();
}

void ImportPost::OnBody(std::string_view piece) {
  if (over_) return;
  arrived_ = true;
  inbox_.append(piece);
  Advance();
}

void ImportPost::OnBodyEnd() {
  body_ended_ = true;
  Advance();
}

void ImportPost::OnShutdown() { EndWith({.message = "the relay is going down; send again what was not settled"}, 503); }

void ImportPost::OnEnd(std::string_view cause) {
  if (!over_) Leave(std::string(cause));
  timer_.reset();
  exchange_ = nullptr;
}

void ImportPost::Notify() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(notified_, true)) return;
  }
  post_([self = shared_from_this()] {
    {
      const MutexLock lock(self->mutex_);
      self->notified_ = false;
    }
    self->Advance();
  });
}

void ImportPost::BreakOff(std::string why) {
  post_([self = shared_from_this(), why = std::move(why)] { self->EndWith({.message = why}, 503); });
}

// Does what is possible now: ends the answer, or passes on the bytes that came, and pauses or resumes the body.
void ImportPost::Advance() {
  if (over_) return;
  const State state = Now();
  if (state.whole) return SyncAndFinish();
  if (state.all_settled && !state.error.ok()) return EndWith({.message = state.error.message()}, 400);
  if (const Status failure = flow_->Failure(); !failure.ok())
    return EndWith({.message = failure.message(), .lasting = true}, 503);
  if (flow_->MayFeed(part_)) Feed();
  PauseOrResume();
}

ImportPost::State ImportPost::Now() const {
  State state;
  state.progress.conditions = flow_->Conditions();
  const MutexLock lock(mutex_);
  state.progress.lines = tally_.read();
  state.progress.tally = tally_;
  state.all_settled = pushed_ == settled_ && !feeding_;
  state.whole = state.progress.done = state.all_settled && all_fed_;
  state.error = error_;
  return state;
}

void ImportPost::Feed() {
  {
    const MutexLock lock(mutex_);
    if (feeding_ || all_fed_ || !error_.ok()) return;
    if (piece_is_done()) {
      if (inbox_.empty() && !body_ended_ && !flush_) return;
      piece_ = std::exchange(inbox_, {});
      piece_at_ = 0;
      piece_is_last_ = body_ended_;
    }
    feeding_ = true;
  }
  flow_->parts().pool.Submit(Urgency::kFair, PartyOfFeed(), [self = shared_from_this()] { self->RunFeed(); });
}

// Returns the party of the tasks that divide the body. The pool serves parties in turn. The judging tasks have another
// party, so a task of this one waits for one chunk at most, not for all chunks that are to be judged.
Party ImportPost::PartyOfFeed() const { return {.id = flow_->parts().party + 1, .work_class = WorkClass::kBulk}; }

void ImportPost::PauseOrResume() {
  const bool pause = inbox_.size() >= kInboxBytes;
  if (pause == paused_) return;
  paused_ = pause;
  if (pause) {
    exchange_->PauseBody();
  } else {
    exchange_->ResumeBody();
  }
}

void ImportPost::RunFeed() {
  const Status status = WithFaultsAsErrors([this] { return TakeApart(); });
  const bool all_fed = status.ok() && piece_is_last_ && piece_is_done();
  if (all_fed || !status.ok()) flow_->Flush();
  {
    const MutexLock lock(mutex_);
    feeding_ = false;
    all_fed_ = all_fed;
    error_ = status;
  }
  if (all_fed) flow_->NoteFed(part_);
  Notify();
}

Status ImportPost::TakeApart() {
  const auto push = [this](Chunk chunk) { Push(std::move(chunk)); };
  const uint64_t weight_before = pushed_weight_;
  size_t text_bytes = 0;
  const uint64_t weight_a_turn = flow_->window_bytes() / kTurnsPerWindow;
  while (!piece_is_done() && text_bytes < kTextATurn && pushed_weight_ - weight_before < weight_a_turn) {
    const std::string_view text = std::string_view(text_).substr(text_at_, kSplitBytes);
    splitter_.Add(text, 0, push);
    text_at_ += text.size();
    text_bytes += text.size();
    if (text_at_ < text_.size()) continue;
    if (Status status = Decode(); !status.ok()) {
      splitter_.Add(text_, 0, push);
      splitter_.Flush(push);
      return status;
    }
  }
  if (std::exchange(flush_, false)) splitter_.Flush(push);
  if (!piece_is_last_ || !piece_is_done()) return Status();
  Status status = decoder_->End();
  if (status.ok()) {
    splitter_.End(push);
  } else {
    splitter_.Flush(push);
  }
  return status;
}

// Decodes the next text of the piece, if any of the piece is left.
Status ImportPost::Decode() {
  text_.clear();
  text_at_ = 0;
  const std::string_view rest = std::string_view(piece_).substr(piece_at_);
  const Result<size_t> taken =
      decoder_->Add(rest, kDecodedBytes, [this](std::string_view bytes) { text_.append(bytes); });
  if (!taken.ok()) return taken.status();
  piece_at_ += taken.value();
  return {};
}

void ImportPost::Push(Chunk chunk) {
  pushed_weight_ += WeightOf(chunk);
  {
    const MutexLock lock(mutex_);
    ++pushed_;
  }
  flow_->Push(std::move(chunk));
}

void ImportPost::OnSettled(const SettledChunk& settled) {
  {
    const MutexLock lock(mutex_);
    ++settled_;
    tally_ += settled.tally;
    for (const Reject& reject : settled.rejects) {
      if (named_++ >= kMostRejects) break;
      rejects_ += ToLine(ImportReject{.line = reject.line, .outcome = reject.outcome, .reason = reject.reason});
    }
  }
  Notify();
}

void ImportPost::WaitForTick() {
  timer_->expires_after(kTick);
  timer_->async_wait([weak = weak_from_this(), post = post_](boost::system::error_code error) {
    if (error || weak.expired()) return;
    post([weak] {
      if (const auto self = weak.lock()) self->OnTick();
    });
  });
}

void ImportPost::OnTick() {
  if (over_) return;
  if (++ticks_ % kTicksPerProgress == 0) SayProgress();
  // If the client has paused, its whole lines do not wait for more bytes.
  if (!arrived_ && Now().all_settled) flush_ = splitter_.has_whole_line();
  arrived_ = false;
  Advance();
  if (!over_) WaitForTick();
}

// Writes the progress, unless the client has not read earlier lines of the answer.
void ImportPost::SayProgress() {
  if (exchange_->pending_bytes() > HttpExchange::kAlwaysTaken / 2) return;
  ImportProgress progress = Now().progress;
  progress.done = false;
  const std::string line = ToLine(progress);
  if (std::exchange(begun_, true)) return exchange_->Write(line);
  exchange_->Begin({.status = 200, .content_type = kJsonLines, .body = line, .headers = {}});
}

// Syncs the store before it ends the answer, because the client's checkpoint relies on the answer: all lines have to be
// on disk, even if WEIR_DB_SYNC asks for no sync.
void ImportPost::SyncAndFinish() {
  if (std::exchange(syncing_, true)) return;
  flow_->parts().pool.Submit(Urgency::kFair, PartyOfFeed(), [self = shared_from_this()] {
    Status synced = WithFaultsAsErrors([&self] { return self->flow_->parts().services.context.store.Sync(); });
    self->post_([self, synced = std::move(synced)] {
      if (self->over_) return;
      if (!synced.ok()) return self->EndWith({.message = synced.message()}, 503);
      self->Finish(ToLine(self->Now().progress), 200, "");
    });
  });
}

void ImportPost::EndWith(const ImportError& error, int status) {
  if (over_) return;
  ImportProgress progress = Now().progress;
  progress.done = false;
  Finish(ToLine(progress) + ToLine(error), status, error.message);
}

// The status is used only if the answer has not begun yet.
void ImportPost::Finish(const std::string& last_lines, int status, const std::string& cause) {
  std::string text;
  {
    const MutexLock lock(mutex_);
    text = std::exchange(rejects_, {});
  }
  text += last_lines;
  if (begun_) {
    exchange_->Write(text);
  } else {
    exchange_->Begin({.status = status, .content_type = kJsonLines, .body = std::move(text), .headers = {}});
  }
  if (std::exchange(paused_, false)) exchange_->ResumeBody();
  Leave(cause);
  exchange_->End();
}

void ImportPost::Leave(const std::string& cause) {
  over_ = true;
  inbox_.clear();
  flow_->Leave(*this, cause);
}

}  // namespace weir
