#include "import/links/link.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "import/links/link_session.h"
#include "import/sync/remote_relay.h"

namespace weir {
namespace {

constexpr size_t kMostTrouble = 300;  // characters
constexpr Duration kNoteEvery = std::chrono::milliseconds(200);

}  // namespace

Link::Link(LinkParts parts, LinkOrder order)
    : parts_(std::move(parts)),
      order_(std::move(order)),
      reads_(parts_.store, parts_.admit_read),
      entered_(parts_.clock.Now()) {
  thread_ = std::thread([this] { Run(); });
}

Link::~Link() {
  StopSoon();
  thread_.join();
}

void Link::StopSoon() {
  reads_.Stop();
  stop_.request_stop();
  const MutexLock lock(mutex_);
  changed_.notify_all();
}

void Link::Run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), WorkPool::kBulkNice);
  for (int failures = 0;;) {
    const Status ended = FaultsAsErrors<bool>([this]() -> Result<bool> {
                           Status status = Connect();
                           return status.ok() ? Result<bool>(true) : status;
                         }).status();
    const std::unique_ptr<EventSink> sink = TakeSink();
    MutexLock lock(mutex_);
    failures = was_steady_ ? 0 : failures + 1;
    if (stop_.stop_requested()) return;
    if (state_.phase != LinkPhase::kWaiting) NoteEnd(ended);
    changed_.wait_for(lock, PauseAfter(failures), [this] { return stop_.stop_requested(); });
    if (stop_.stop_requested()) return;
    Enter(LinkPhase::kConnecting);
  }
}

// Returns when the connection has ended, or could not be made, with the reason.
Status Link::Connect() {
  was_steady_ = false;
  const Result<std::unique_ptr<RemoteRelay>> relay =
      RemoteRelay::Connect(order_.url, order_.ca_file, stop_.get_token());
  if (!relay.ok()) return relay.status();
  EventSink* sink = nullptr;
  if (GoesDown(order_.direction)) {
    Result<std::unique_ptr<EventSink>> opened = EventSink::Open(parts_.settings, stop_.get_token(), parts_.open);
    if (!opened.ok()) return opened.status();
    sink = opened.value().get();
    const MutexLock lock(mutex_);
    sink_ = std::move(opened).value();
  }
  {
    const MutexLock lock(mutex_);
    ++state_.connections;
    counts_before_ = state_.counts;
  }
  return RunSession(*relay.value(), sink);
}

Status Link::RunSession(RemoteRelay& relay, EventSink* sink) {
  std::optional<OwnEvents> own;
  if (GoesUp(order_.direction))
    own.emplace(parts_.delivery, [this](EventView event) { return LinkSession::Passes(order_, event); });
  TimePoint noted;
  const auto on_progress = [&](bool is_live, const SyncCounts& counts) {
    const LinkPhase phase = is_live ? LinkPhase::kLive : LinkPhase::kComparing;
    const TimePoint now = parts_.clock.Now();
    const MutexLock lock(mutex_);
    if (state_.phase != phase) {
      Enter(phase);
    } else if (now - noted < kNoteEvery) {
      return;
    }
    noted = now;
    if (is_live) state_.trouble.clear();
    NoteCounts(counts);
  };
  LinkSession session({.relay = relay,
                       .store = parts_.store,
                       .order = order_,
                       .limits = EventLimitsOf(parts_.settings),
                       .sink = sink,
                       .own = own ? &*own : nullptr,
                       .reads = reads_,
                       .comparisons = parts_.comparisons,
                       .on_progress = on_progress});
  Status ended = session.Run();
  {
    const MutexLock lock(mutex_);
    was_steady_ = state_.phase == LinkPhase::kLive && parts_.clock.Now() - entered_ > kLongestPause;
    NoteCounts(session.counts());
    if (!stop_.stop_requested()) NoteEnd(ended);
  }
  if (sink == nullptr || stop_.stop_requested()) return ended;
  Status saved = sink->Finish();
  return saved.ok() ? ended : saved;
}

// Takes the sink out, so that it can be destroyed without the lock, because that waits for its threads.
std::unique_ptr<EventSink> Link::TakeSink() {
  const MutexLock lock(mutex_);
  if (sink_ == nullptr) return nullptr;
  state_.came += sink_->outcome();
  return std::move(sink_);
}

// The other relay writes a part of the reason.
void Link::NoteEnd(const Status& ended) {
  state_.trouble = FirstCharacters(ended.message(), kMostTrouble);
  Enter(LinkPhase::kWaiting);
  spdlog::warn("link with {}: {}", Printable(order_.url), Printable(state_.trouble));
}

void Link::NoteCounts(const SyncCounts& counts) {
  state_.counts = counts_before_;
  Add(counts, &state_.counts);
}

void Link::Enter(LinkPhase phase) {
  state_.phase = phase;
  entered_ = parts_.clock.Now();
}

// Each pause is longer than the one before, and not as long as those of other clients of the relay.
Duration Link::PauseAfter(int failures) {
  const Duration longest = std::min(kLongestPause, kFirstPause * (int64_t{1} << std::min(failures, 20)));
  return Duration(std::uniform_int_distribution<int64_t>((longest / 2).count(), longest.count())(random_));
}

LinkState Link::State() const {
  const MutexLock lock(mutex_);
  LinkState state = state_;
  state.order = order_;
  state.lasts = parts_.clock.Now() - entered_;
  if (sink_ == nullptr) return state;
  state.came += sink_->outcome();
  if (std::string problem = sink_->problem(); !problem.empty()) state.trouble = std::move(problem);
  return state;
}

}  // namespace weir
