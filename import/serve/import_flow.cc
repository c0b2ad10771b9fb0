#include "import/serve/import_flow.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <utility>

#include "import/serve/import_post.h"

namespace weir {
namespace {

// A client whose event waits for the commit thread waits for a write of at most this many import events: about a
// millisecond plus a sync. With 256 events the import was not faster, because verification limits its speed.
constexpr size_t kSaveEvents = 64;

// A run that has had no POST for this long is over. A part that comes later is refused with 409.
constexpr Duration kLongestBreak = std::chrono::seconds(5);

}  // namespace

ImportFlow::ImportFlow(ImportFlowParts parts)
    : parts_(std::move(parts)),
      window_bytes_(std::min(kMostWindowBytes, parts_.services.context.budget.bytes() / kMostAtOnce)),
      began_(parts_.services.context.clock.Now()),
      left_(began_),
      pipeline_(PartsOfPipeline(), OptionsOfPipeline(), [this](const SettledChunk& settled) { OnSettled(settled); }) {
  spdlog::info("import from {} began", parts_.address);
}

ImportFlow::~ImportFlow() = default;

PipelineParts ImportFlow::PartsOfPipeline() {
  RelayContext& context = parts_.services.context;
  return {.pool = parts_.pool,
          .store = &context.store,
          .limiter = &context.limiter,
          .save = [&events = parts_.services.events](
                      std::span<const Event> batch,
                      std::span<SaveResult> results) { return events.SaveBulk(batch, results); },
          .on_failure = [this] { OnFailure(); },
          .tracer = context.tracer,
          .traceparent = parts_.traceparent,
          .clock = context.clock,
          .wall_clock = context.wall_clock};
}

PipelineOptions ImportFlow::OptionsOfPipeline() const {
  const RelaySettings& settings = parts_.services.context.settings;
  PipelineOptions options;
  options.judge = {
      .limits = EventLimitsOf(settings), .max_future_s = settings.created_at_future_s, .verify = parts_.verify};
  options.party = {.id = parts_.party, .work_class = WorkClass::kBulk};
  options.save_events = kSaveEvents;
  return options;
}

bool ImportFlow::Expects(uint32_t part) const {
  const MutexLock lock(mutex_);
  return cause_.empty() && !retired_ && part == next_part_;
}

bool ImportFlow::has_slot() const {
  const MutexLock lock(mutex_);
  return slot_ != nullptr;
}

void ImportFlow::Enter(const std::shared_ptr<ImportPost>& post, std::unique_ptr<RunningLimit::Slot> slot) {
  const MutexLock lock(mutex_);
  posts_.push_back(post);
  ++next_part_;
  if (slot != nullptr) slot_ = std::move(slot);
}

bool ImportFlow::IsOver() const {
  const MutexLock lock(mutex_);
  if (!cause_.empty()) return true;
  return posts_.empty() && (!parts_.is_run || parts_.services.context.clock.Now() - left_ >= kLongestBreak);
}

bool ImportFlow::MayFeed(uint32_t part) {
  const MutexLock lock(mutex_);
  full_ = under_way_ > (full_ ? window_bytes_ / 2 : window_bytes_);
  return !full_ && part == feeding_;
}

void ImportFlow::Push(Chunk chunk) {
  const uint64_t weight = WeightOf(chunk);
  {
    const MutexLock lock(mutex_);
    if (retired_) return;
    under_way_ += weight;
  }
  parts_.services.context.count_own_bytes(static_cast<int64_t>(weight), OwnUse::kWaiting);
  pipeline_.Push(std::move(chunk));
}

void ImportFlow::NoteFed(uint32_t part) {
  std::shared_ptr<ImportPost> next;
  {
    const MutexLock lock(mutex_);
    feeding_ = part + 1;
    next = PostOf(feeding_);
  }
  if (next) next->Notify();
}

std::shared_ptr<ImportPost> ImportFlow::PostOf(uint32_t part) const {
  const auto found = std::ranges::find_if(posts_, [part](const auto& post) { return post->part() == part; });
  return found == posts_.end() ? nullptr : *found;
}

void ImportFlow::OnSettled(const SettledChunk& settled) {
  const Tally& tally = settled.tally;
  for (size_t i = 0; i < kLineOutcomes; ++i)
    parts_.counters.lines[i].fetch_add(tally.lines[i], std::memory_order_relaxed);
  parts_.counters.bytes.fetch_add(tally.bytes, std::memory_order_relaxed);
  const uint64_t weight = WeightOf(settled.chunk);
  parts_.services.context.count_own_bytes(-static_cast<int64_t>(weight), OwnUse::kWaiting);
  std::shared_ptr<ImportPost> post;
  std::shared_ptr<ImportPost> feeding;
  {
    const MutexLock lock(mutex_);
    under_way_ -= weight;
    tally_ += tally;
    post = PostOf(settled.chunk.input);
    feeding = PostOf(feeding_);
  }
  if (post) post->OnSettled(settled);
  // The window may now have room for the part that may pass its lines.
  if (feeding && feeding != post) feeding->Notify();
}

void ImportFlow::OnFailure() {
  const MutexLock lock(mutex_);
  for (const auto& post : posts_) post->Notify();
}

void ImportFlow::Leave(const ImportPost& post, const std::string& cause) {
  std::unique_ptr<RunningLimit::Slot> slot;
  {
    const MutexLock lock(mutex_);
    std::erase_if(posts_, [&post](const auto& one) { return one.get() == &post; });
    left_ = parts_.services.context.clock.Now();
    if (cause_.empty()) cause_ = cause;
    if (cause_.empty() && posts_.empty()) slot = std::move(slot_);
    if (!cause_.empty())
      for (const auto& other : posts_) other->BreakOff("another part of this import broke off, " + cause_);
  }
  slot.reset();
  parts_.on_idle();
}

void ImportFlow::Retire() {
  {
    const MutexLock lock(mutex_);
    retired_ = true;
  }
  pipeline_.Stop();
  parts_.counters.throttled_ns.fetch_add(Conditions().throttled_time.count(), std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  parts_.services.context.count_own_bytes(-static_cast<int64_t>(std::exchange(under_way_, 0)), OwnUse::kWaiting);
  if (cause_.empty()) {
    spdlog::info("import from {} ended: {}", parts_.address, Summary());
  } else {
    spdlog::warn("import from {} broke off, {}: {}", parts_.address, cause_, Summary());
  }
  slot_.reset();
}

ImportFlow::Progress ImportFlow::SoFar() const {
  const MutexLock lock(mutex_);
  return {.tally = tally_, .took = parts_.services.context.clock.Now() - began_};
}

std::string ImportFlow::Summary() const {
  std::string text = fmt::format("{} lines, {} imported", tally_.read(), tally_[LineOutcome::kImported]);
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    if (outcome == LineOutcome::kImported || tally_[outcome] == 0) continue;
    text += fmt::format(", {} {}", tally_[outcome], NameOf(outcome));
  }
  return text + fmt::format(", in {:.1f} s", ToSeconds(left_ - began_));
}

}  // namespace weir
