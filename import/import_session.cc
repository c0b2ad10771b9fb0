#include "import/import_session.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace weir {
namespace {

// A worker judges a chunk in about half a millisecond, and somebody who waits for the commit thread waits for a write
// of so many events at most: about a millisecond and a sync. With 256 the import was not faster, for it verifies.
constexpr size_t kChunkBytes = 8 << 10;
constexpr size_t kSaveEvents = 64;

constexpr uint64_t kWindowBytes = 4 << 20;
constexpr size_t kInboxBytes = 128 << 10;

// One task takes apart so much text, or as short lines what weighs as much as this window's eighth.
constexpr size_t kTextATurn = 128 << 10;
constexpr uint64_t kWeightATurn = kWindowBytes / 8;
// In steps of what is decoded at once, and of what is split before it is looked at how much it weighs.
constexpr size_t kDecodedBytes = 64 << 10;
constexpr size_t kSplitBytes = 4 << 10;
// A frame's window is memory that a client asks for by one byte.
constexpr int kZstdWindow = 23;

constexpr std::chrono::milliseconds kTick{250};
// Also when nothing changes: while the body is paused, nothing but writing tells that the client is gone.
constexpr std::chrono::seconds kLongestSilence{5};

SplitterLimits LimitsOf(const RelaySettings& settings) {
  return {.chunk_bytes = kChunkBytes, .max_line_bytes = MaxLineBytes(EventLimitsOf(settings))};
}

}  // namespace

ImportSession::ImportSession(ImportSessionParts parts, HttpExchange& exchange)
    : parts_(std::move(parts)),
      began_(parts_.services.context.clock.Now()),
      post_(exchange.poster()),
      exchange_(&exchange),
      decoder_(Decoder::Make(parts_.compression, kZstdWindow)),
      splitter_(LimitsOf(parts_.services.context.settings), 0) {}

ImportSession::~ImportSession() = default;

void ImportSession::Start() {
  RelayContext& context = parts_.services.context;
  const RelaySettings& settings = context.settings;
  PipelineParts parts{.pool = parts_.pool,
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
  options.save_events = kSaveEvents;
  pipeline_ = std::make_unique<Pipeline>(std::move(parts), options,
                                         [this](SettledChunk settled) { OnSettled(std::move(settled)); });
  timer_.emplace(exchange_->executor());
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
  EndWith({.message = "the relay is going down; send again what was not settled"}, 503);
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
  if (clogged_ || exchange_->pending_bytes() <= HttpExchange::kAlwaysTaken) return clogged_;
  clogged_ = true;
  exchange_->WhenPendingBelow(HttpExchange::kAlwaysTaken, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->over_) return;
    self->clogged_ = false;
    self->OnNews();
  });
  return true;
}

void ImportSession::Feed() {
  {
    const std::lock_guard lock(mutex_);
    if (feeding_ || all_fed_ || !error_.ok()) return;
    if (piece_is_done()) {
      if (inbox_.empty() && !body_ended_ && !flush_) return;
      piece_ = std::exchange(inbox_, {});
      piece_at_ = 0;
      piece_is_last_ = body_ended_;
    }
    feeding_ = true;
  }
  // As a party of its own: it waits for one chunk of those that are judged, not for all.
  const Party party{.id = parts_.party + 1, .work_class = WorkClass::kBulk};
  parts_.pool.Submit(Urgency::kFair, party, [self = shared_from_this()] { self->RunFeed(); });
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
  const bool all_fed = status.ok() && piece_is_last_ && piece_is_done();
  if (all_fed || !status.ok()) pipeline_->Flush();
  {
    const std::lock_guard lock(mutex_);
    feeding_ = false;
    all_fed_ = all_fed;
    error_ = status;
    fed_.notify_all();
  }
  post_([self = shared_from_this()] { self->OnNews(); });
}

Status ImportSession::TakeApart() {
  const auto push = [this](Chunk chunk) { Push(std::move(chunk)); };
  const uint64_t weight_before = pushed_weight_;
  size_t text_bytes = 0;
  while (!piece_is_done() && text_bytes < kTextATurn && pushed_weight_ - weight_before < kWeightATurn) {
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

// The text that comes next, where there is some of the piece left.
Status ImportSession::Decode() {
  text_.clear();
  text_at_ = 0;
  const std::string_view rest = std::string_view(piece_).substr(piece_at_);
  const Result<size_t> taken =
      decoder_->Add(rest, kDecodedBytes, [this](std::string_view bytes) { text_.append(bytes); });
  if (!taken.ok()) return taken.status();
  piece_at_ += taken.value();
  return {};
}

void ImportSession::Push(Chunk chunk) {
  const uint64_t weight = WeightOf(chunk);
  pushed_weight_ += weight;
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
  if (post) post_([self = shared_from_this()] { self->OnNews(); });
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
    if (news.whole) return Finish(news, {}, 200);
    if (ending_) return Finish(news, ending_->error, ending_->status);
    if (news.all_settled && !news.error.ok()) return Finish(news, {.message = news.error.message()}, 400);
    Say(news.rejects);
  }
  Advance();
}

void ImportSession::WaitForTick() {
  timer_->expires_after(kTick);
  timer_->async_wait([weak = weak_from_this(), post = post_](boost::system::error_code error) {
    if (error || weak.expired()) return;
    post([weak] {
      if (const auto self = weak.lock()) self->OnTick();
    });
  });
}

void ImportSession::OnTick() {
  if (over_) return;
  CountThrottled();
  if (const Status failure = pipeline_->Failure(); !failure.ok() && !ending_)
    EndWith({.message = failure.message(), .lasting = true}, 503);
  if (over_) return;
  if (!ending_ && !Clogged()) {
    News news = TakeNews();
    AppendNewProgress(news, &news.rejects);
    Say(news.rejects);
    // Whole lines of a client that sends little wait for no more.
    if (!arrived_ && news.all_settled) flush_ = splitter_.has_whole_line();
  }
  arrived_ = false;
  OnNews();
  if (!over_) WaitForTick();
}

// As soon as it may be written.
void ImportSession::EndWith(ImportError error, int status) {
  ending_ = {.error = std::move(error), .status = status};
  OnNews();
}

void ImportSession::AppendNewProgress(const News& news, std::string* text) {
  std::string progress;
  AppendProgress(ProgressOf(news), &progress);
  const TimePoint now = parts_.services.context.clock.Now();
  if (progress == last_progress_ && now - progress_at_ < kLongestSilence) return;
  text->append(progress);
  last_progress_ = std::move(progress);
  progress_at_ = now;
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
  exchange_->Begin({.status = status, .content_type = kJsonLines, .body = std::string(text), .headers = {}});
}

// The status counts if nothing was answered yet.
void ImportSession::Finish(const News& news, const ImportError& error, int status) {
  std::string text = news.rejects;
  ImportProgress progress = ProgressOf(news);
  progress.done = error.message.empty();
  AppendProgress(progress, &text);
  if (!progress.done) AppendError(error, &text);
  Say(text, status);
  if (std::exchange(paused_, false)) exchange_->ResumeBody();
  GiveUp(error.message);
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
  parts_.slot.reset();
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
