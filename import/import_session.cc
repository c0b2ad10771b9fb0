#include "import/import_session.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <span>
#include <utility>

namespace weir {
namespace {

// A worker judges a chunk in about half a millisecond, and somebody who waits for the commit thread waits for a write
// of so many events at most.
constexpr size_t kChunkBytes = 8 << 10;
constexpr size_t kSaveEvents = 256;

constexpr uint64_t kWindowBytes = 4 << 20;
// What a line costs beside its text: a reason why it was rejected, and the same as a line of the answer. Without it a
// window of one-byte lines would take two hundred megabytes.
constexpr uint64_t kLineBytes = 128;
constexpr size_t kInboxBytes = 128 << 10;
constexpr size_t kMaxUnsentBytes = 256 << 10;

// One task takes apart so much text, in so small steps: 1 KiB of gzip is 1 MiB of text at most.
constexpr uint64_t kTextATurn = 128 << 10;
constexpr size_t kCompressedStep = 1 << 10;

constexpr std::chrono::milliseconds kTick{250};

uint64_t WeightOf(const Chunk& chunk) {
  return chunk.text.size() + kLineBytes * (chunk.end.lines - chunk.begin.lines + 1);
}

SplitterLimits LimitsOf(const RelaySettings& settings) {
  return {.chunk_bytes = kChunkBytes, .max_line_bytes = 2 * settings.max_event_bytes + (64 << 10)};
}

}  // namespace

ImportSession::ImportSession(ImportSessionParts parts, HttpExchange& exchange)
    : parts_(std::move(parts)),
      began_(parts_.services.context.clock.Now()),
      executor_(exchange.executor()),
      exchange_(&exchange),
      decoder_(Decoder::Make(parts_.compression)),
      splitter_(LimitsOf(parts_.services.context.settings), 0) {}

ImportSession::~ImportSession() = default;

void ImportSession::Start() {
  RelayContext& context = parts_.services.context;
  const RelaySettings& settings = context.settings;
  PipelineParts parts{.pool = context.pool,
                      .store = &context.store,
                      .limiter = &context.limiter,
                      .save = [&events = parts_.services.events](
                                  std::span<const Event> batch,
                                  std::span<SaveResult> results) { return events.SaveBulk(batch, results); },
                      .clock = context.clock,
                      .wall_clock = context.wall_clock};
  PipelineOptions options;
  options.judge = {
      .limits = EventLimitsOf(settings), .max_future_s = settings.created_at_future_s, .verify = parts_.verify};
  options.party = {.id = parts_.party, .work_class = WorkClass::kBulk};
  options.urgency = Urgency::kBulk;
  options.save_events = kSaveEvents;
  pipeline_ = std::make_unique<Pipeline>(std::move(parts), options,
                                         [this](SettledChunk settled) { OnSettled(std::move(settled)); });
  timer_.emplace(executor_);
  WaitForTick();
  spdlog::info("import from {} began", parts_.address);
}

void ImportSession::OnBody(std::string_view piece) {
  if (over_) return;
  arrived_ = true;
  inbox_.append(piece);
  Advance();
}

void ImportSession::OnBodyEnd() {
  if (over_) return;
  body_ended_ = true;
  Advance();
}

void ImportSession::OnShutdown() {
  if (over_) return;
  Finish(TakeNews(), "the relay is going down; send again what was not settled", 503);
}

void ImportSession::OnEnd(std::string_view cause) {
  if (!over_) GiveUp(std::string(cause));
  timer_.reset();
  exchange_ = nullptr;
}

// Hands on what came, or stops the client from sending more.
void ImportSession::Advance() {
  if (over_) return;
  if (WantsMore()) Feed();
  PauseOrResume();
}

bool ImportSession::WantsMore() {
  const uint64_t under_way = under_way_.load(std::memory_order_relaxed);
  full_ = under_way > (full_ ? kWindowBytes / 2 : kWindowBytes);
  return !full_ && !Clogged();
}

// While the client does not take its answer nothing is added to it: the server would find it too slow.
bool ImportSession::Clogged() {
  if (clogged_ || exchange_->pending_bytes() <= kMaxUnsentBytes) return clogged_;
  clogged_ = true;
  exchange_->WhenPendingBelow(kMaxUnsentBytes / 2, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->clogged_ = false;
    self->OnNews();
  });
  return true;
}

void ImportSession::Feed() {
  {
    const std::lock_guard lock(mutex_);
    if (feeding_ || all_fed_ || !error_.ok()) return;
    if (piece_at_ == piece_.size()) {
      if (inbox_.empty() && !body_ended_ && !flush_) return;
      piece_ = std::exchange(inbox_, {});
      piece_at_ = 0;
      piece_is_last_ = body_ended_;
    }
    feeding_ = true;
  }
  // As a party of its own: it waits for one chunk of those that are judged, not for all.
  const Party party{.id = parts_.party + 1, .work_class = WorkClass::kBulk};
  parts_.services.context.pool.Submit(Urgency::kBulk, party, [self = shared_from_this()] { self->RunFeed(); });
}

void ImportSession::PauseOrResume() {
  const bool pause = inbox_.size() >= kInboxBytes;
  if (pause == paused_) return;
  paused_ = pause;
  if (pause) {
    exchange_->PauseBody();
  } else {
    exchange_->ResumeBody();
  }
}

void ImportSession::RunFeed() {
  Status status;
  try {
    status = TakeApart();
  } catch (const std::exception& e) {
    status = Status::Error(std::string("the relay met a fault: ") + e.what());
  }
  const bool all_fed = status.ok() && piece_is_last_ && piece_at_ == piece_.size();
  if (all_fed || !status.ok()) pipeline_->Flush();
  {
    const std::lock_guard lock(mutex_);
    feeding_ = false;
    all_fed_ = all_fed;
    error_ = status;
    fed_.notify_all();
  }
  boost::asio::post(executor_, [self = shared_from_this()] { self->OnNews(); });
}

Status ImportSession::TakeApart() {
  const auto push = [this](Chunk chunk) { Push(std::move(chunk)); };
  uint64_t text_bytes = 0;
  const auto split = [&](std::string_view text) {
    text_bytes += text.size();
    splitter_.Add(text, 0, push);
  };
  const size_t step = parts_.compression == Compression::kNone ? kTextATurn : kCompressedStep;
  while (piece_at_ < piece_.size() && text_bytes < kTextATurn) {
    const std::string_view next = std::string_view(piece_).substr(piece_at_, step);
    piece_at_ += next.size();
    Status status = decoder_->Add(next, split);
    if (status.ok()) continue;
    splitter_.Flush(push);
    return status;
  }
  if (std::exchange(flush_, false)) splitter_.Flush(push);
  if (!piece_is_last_ || piece_at_ < piece_.size()) return Status();
  Status status = decoder_->End();
  if (status.ok()) {
    splitter_.End(push);
  } else {
    splitter_.Flush(push);
  }
  return status;
}

void ImportSession::Push(Chunk chunk) {
  const uint64_t weight = WeightOf(chunk);
  under_way_.fetch_add(weight, std::memory_order_relaxed);
  parts_.services.context.count_own_bytes(static_cast<int64_t>(weight));
  {
    const std::lock_guard lock(mutex_);
    ++pushed_;
  }
  pipeline_->Push(std::move(chunk));
}

void ImportSession::OnSettled(SettledChunk settled) {
  const Tally& tally = settled.tally;
  for (size_t i = 0; i < kLineOutcomes; ++i)
    parts_.counters.lines[i].fetch_add(tally.lines[i], std::memory_order_relaxed);
  parts_.counters.bytes.fetch_add(tally.bytes, std::memory_order_relaxed);
  const uint64_t weight = WeightOf(settled.chunk);
  under_way_.fetch_sub(weight, std::memory_order_relaxed);
  parts_.services.context.count_own_bytes(-static_cast<int64_t>(weight));
  bool post = false;
  {
    const std::lock_guard lock(mutex_);
    ++settled_;
    tally_ += tally;
    for (const Reject& reject : settled.rejects) AppendReject(reject.line, reject.outcome, reject.reason, &rejects_);
    post = !std::exchange(news_posted_, true);
  }
  if (post) boost::asio::post(executor_, [self = shared_from_this()] { self->OnNews(); });
}

ImportSession::News ImportSession::TakeNews() {
  News news;
  const std::lock_guard lock(mutex_);
  news_posted_ = false;
  news.rejects = std::exchange(rejects_, {});
  news.tally = tally_;
  news.all_settled = pushed_ == settled_ && !feeding_;
  news.whole = news.all_settled && all_fed_;
  news.error = error_;
  return news;
}

void ImportSession::OnNews() {
  if (over_) return;
  if (!Clogged()) {
    const News news = TakeNews();
    if (news.whole) return Finish(news, "", 200);
    if (news.all_settled && !news.error.ok()) return Finish(news, news.error.message(), 400);
    Say(news.rejects);
  }
  Advance();
}

void ImportSession::WaitForTick() {
  timer_->expires_after(kTick);
  timer_->async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (self && !error) self->OnTick();
  });
}

void ImportSession::OnTick() {
  if (over_) return;
  CountThrottled();
  if (const Status failure = pipeline_->Failure(); !failure.ok()) return Finish(TakeNews(), failure.message(), 503);
  if (!Clogged()) {
    const News news = TakeNews();
    Say(news.rejects);
    SayProgress(news);
    // Whole lines of a client that sends little wait for no more.
    if (!arrived_ && news.all_settled) flush_ = splitter_.unfinished();
  }
  arrived_ = false;
  OnNews();
  if (!over_) WaitForTick();
}

void ImportSession::SayProgress(const News& news) {
  std::string progress;
  AppendProgress(ProgressOf(news), &progress);
  if (progress == last_progress_) return;
  Say(progress);
  last_progress_ = std::move(progress);
}

ImportProgress ImportSession::ProgressOf(const News& news) const {
  ImportProgress progress;
  progress.lines = news.tally.read();
  progress.tally = news.tally;
  progress.conditions = pipeline_->Conditions();
  return progress;
}

void ImportSession::Say(std::string_view text, int status) {
  if (text.empty()) return;
  if (std::exchange(begun_, true)) return exchange_->Write(text);
  exchange_->Begin(
      {.status = status, .content_type = "application/x-ndjson", .body = std::string(text), .headers = {}});
}

// The status counts if nothing was answered yet.
void ImportSession::Finish(const News& news, const std::string& error, int status) {
  std::string text = news.rejects;
  ImportProgress progress = ProgressOf(news);
  progress.done = error.empty();
  AppendProgress(progress, &text);
  if (!error.empty()) AppendError(error, &text);
  Say(text, status);
  if (std::exchange(paused_, false)) exchange_->ResumeBody();
  GiveUp(error);
  exchange_->End();
}

void ImportSession::GiveUp(std::string cause) {
  over_ = true;
  cause_ = std::move(cause);
  inbox_.clear();
  parts_.retire(shared_from_this());
}

void ImportSession::Retire() {
  {
    std::unique_lock lock(mutex_);
    fed_.wait(lock, [this] { return !feeding_; });
  }
  pipeline_->Stop();
  CountThrottled();
  pipeline_.reset();
  parts_.services.context.count_own_bytes(-static_cast<int64_t>(under_way_.exchange(0)));
  if (cause_.empty()) {
    spdlog::info("import from {} ended: {}", parts_.address, Summary());
  } else {
    spdlog::warn("import from {} broke off, {}: {}", parts_.address, cause_, Summary());
  }
}

void ImportSession::CountThrottled() {
  const Duration all = pipeline_->Conditions().throttled_time;
  parts_.counters.throttled_ns.fetch_add((all - std::exchange(throttled_, all)).count(), std::memory_order_relaxed);
}

std::string ImportSession::Summary() const {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("{} lines, {} imported", tally_.read(), tally_[LineOutcome::kImported]);
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    if (outcome == LineOutcome::kImported || tally_[outcome] == 0) continue;
    text += fmt::format(", {} {}", tally_[outcome], NameOf(outcome));
  }
  const double seconds = ToSeconds(parts_.services.context.clock.Now() - began_);
  return text + fmt::format(", in {:.1f} s", seconds);
}

}  // namespace weir
