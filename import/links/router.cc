#include "import/links/router.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "import/local_destination.h"
#include "relay/protocol/save_allowed.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kReapEvery{2};
// The values of Party::id of links are above this one; those of imports and of connections are below.
constexpr uint64_t kFirstParty = uint64_t{3} << 61;
constexpr size_t kLinkWindowBytes = 1 << 20;
// The largest write, in events. It is as small as that of an import into a relay, for the same reason.
constexpr size_t kLinkSaveEvents = 64;
constexpr Duration kLinger = std::chrono::milliseconds(20);
constexpr int kJudgeNice = 15;
// Batches that may wait until subscribers have room for them.
constexpr size_t kMostUndelivered = 4;

// Counts the batches that are not delivered yet, and lets the next one wait.
class Undelivered {
 public:
  // Returns a token that counts as a batch for as long as it lives; null after Stop.
  static std::shared_ptr<void> Enter(const std::shared_ptr<Undelivered>& self) {
    MutexLock lock(self->mutex_);
    self->changed_.wait(lock, [&] { return self->stopped_ || self->batches_ < kMostUndelivered; });
    if (self->stopped_) return nullptr;
    ++self->batches_;
    return {self.get(), [self](void*) { self->Leave(); }};
  }
  void Stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  void Leave() {
    const MutexLock lock(mutex_);
    --batches_;
    changed_.notify_all();
  }

  Mutex mutex_;
  Condition changed_;
  size_t batches_ WEIR_GUARDED_BY(mutex_) = 0;
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
};

std::function<Status(std::span<const Event>, std::span<SaveResult>)> SaveOf(
    const RelayServices& services, const std::shared_ptr<PolicyPlugin>& plugin, const std::string& url,
    const std::shared_ptr<Undelivered>& undelivered) {
  const RelayContext& context = services.context;
  const SaveEvents save = [&events = services.events, &context, undelivered](std::span<const Event> batch,
                                                                             std::span<SaveResult> results) {
    std::shared_ptr<void> token = Undelivered::Enter(undelivered);
    if (token == nullptr) return Status::Error("stopped");
    const uint64_t now = context.wall_clock.NowSeconds();
    return events.SaveNews(batch, results, now - std::min(now, Router::kNewsSeconds), [token = std::move(token)] {});
  };
  if (plugin == nullptr) return save;
  return [plugin, url, save, &context](std::span<const Event> batch, std::span<SaveResult> results) {
    return SaveAllowed(*plugin, context.wall_clock.NowSeconds(), batch, results, save, {.type = "Stream", .info = url});
  };
}

}  // namespace

Router::Router(const RelayServices& services, const Clock& clock) : services_(services), clock_(clock) {
  reaper_ = std::thread([this] { RunReaper(); });
}

Router::~Router() { Stop(); }

Result<std::shared_ptr<PolicyPlugin>> Router::StartPlugin(const LinkOrder& order) const {
  if (order.plugin.empty()) return std::shared_ptr<PolicyPlugin>();
  const PluginSettings& settings = services_.configuration.plugins;
  Result<std::unique_ptr<PolicyPlugin>> started = PolicyPlugin::Start({.name = "link",
                                                                       .command = {.command = order.plugin},
                                                                       .timeout = settings.timeout,
                                                                       .on_failure = settings.on_failure});
  if (!started.ok())
    return Status::Error("the plugin of the link with " + order.url + ": " + started.status().message());
  return std::shared_ptr<PolicyPlugin>(std::move(started).value());
}

std::unique_ptr<Link> Router::Begin(const Entry& entry, LinkOrder order) {
  const RelayServices& services = services_;
  const auto open = [services, plugin = entry.plugin, url = order.url, id = entry.id](
                        DestinationOptions options,
                        const Destination::OnSettled& on_settled) -> Result<std::unique_ptr<Destination>> {
    RelayContext& context = services.context;
    const auto undelivered = std::make_shared<Undelivered>();
    options.threads = 1;
    LocalParts parts{.name = url,
                     .store = &context.store,
                     .limiter = &context.limiter,
                     .save = SaveOf(services, plugin, url, undelivered),
                     .interrupt = [undelivered] { undelivered->Stop(); },
                     .count_own_bytes = context.count_own_bytes,
                     .tracer = context.tracer,
                     .window_bytes = kLinkWindowBytes,
                     .pipeline = {.party = {.id = kFirstParty + id, .work_class = WorkClass::kBulk},
                                  .save_events = kLinkSaveEvents,
                                  .linger = kLinger},
                     .nice = kJudgeNice};
    return std::unique_ptr<Destination>(std::make_unique<LocalDestination>(std::move(parts), options, on_settled));
  };
  RelayContext& context = services.context;
  return std::make_unique<Link>(LinkParts{.store = context.store,
                                          .delivery = context.delivery,
                                          .settings = context.settings,
                                          .admit_read = AdmitAsBulk(context.limiter, Operation::kRead),
                                          .comparisons = comparisons_,
                                          .open = open,
                                          .clock = context.clock},
                                std::move(order));
}

Status Router::Use(std::vector<LinkOrder> orders) {
  // Plugins are started before anything changes, because one of them may fail.
  std::vector<std::pair<LinkOrder, std::shared_ptr<PolicyPlugin>>> started;
  Entries ended;
  const MutexLock lock(mutex_);
  if (stopped_) return {};
  const auto runs = [this](const LinkOrder& order) WEIR_REQUIRES(mutex_) {
    return std::ranges::find_if(
        entries_, [&order](const Entry& entry) { return !entry.lease && entry.link && entry.link->order() == order; });
  };
  const auto shares = [](const LinkOrder& a, const LinkOrder& b) { return a.group == b.group && a.plugin == b.plugin; };
  for (LinkOrder& order : orders) {
    std::shared_ptr<PolicyPlugin> plugin;
    if (const auto running = runs(order); running == entries_.end()) {
      const auto same =
          std::ranges::find_if(started, [&](const auto& one) { return one.second && shares(one.first, order); });
      if (same != started.end()) {
        plugin = same->second;
      } else {
        Result<std::shared_ptr<PolicyPlugin>> begun = StartPlugin(order);
        if (!begun.ok()) return begun.status();
        plugin = std::move(begun).value();
      }
    }
    started.emplace_back(std::move(order), std::move(plugin));
  }
  Entries next;
  for (auto& [order, plugin] : started) {
    if (const auto running = runs(order); running != entries_.end()) {
      next.push_back(std::move(*running));
      continue;
    }
    Entry& entry = next.emplace_back(Entry{.id = ++last_id_, .plugin = std::move(plugin), .link = {}, .lease = {}});
    entry.link = Begin(entry, std::move(order));
  }
  for (Entry& entry : entries_) {
    if (!entry.link) continue;
    (entry.lease ? next : ended).push_back(std::move(entry));
  }
  entries_ = std::move(next);
  return {};  // `ended` is destroyed after the lock
}

Result<uint64_t> Router::Open(LinkOrder order) {
  if (Status checked = Check(order); !checked.ok()) return checked;
  Result<std::shared_ptr<PolicyPlugin>> plugin = StartPlugin(order);
  if (!plugin.ok()) return plugin.status();
  const MutexLock lock(mutex_);
  if (stopped_) return Status::Error("shutting down");
  if (entries_.size() >= kMostLinks)
    return Status::Error("there are " + std::to_string(entries_.size()) + " links, and no more may be opened");
  Entry entry{.id = ++last_id_, .plugin = std::move(plugin).value(), .link = {}, .lease = clock_.Now() + kLease};
  entry.link = Begin(entry, std::move(order));
  entries_.push_back(std::move(entry));
  return last_id_;
}

std::optional<LinkState> Router::Renew(uint64_t id) {
  const MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.id != id || !entry.lease) continue;
    entry.lease = clock_.Now() + kLease;
    return StateOf(entry);
  }
  return std::nullopt;
}

bool Router::Close(uint64_t id) {
  Entries ended;
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [id](const Entry& entry) { return entry.id == id && entry.lease; });
  if (found == entries_.end()) return false;
  ended.push_back(std::move(*found));
  entries_.erase(found);
  return true;  // `ended` is destroyed after the lock
}

std::vector<LinkState> Router::List() const {
  const MutexLock lock(mutex_);
  std::vector<LinkState> states;
  for (const Entry& entry : entries_) states.push_back(StateOf(entry));
  return states;
}

LinkState Router::StateOf(const Entry& entry) {
  LinkState state = entry.link->State();
  state.id = entry.id;
  return state;
}

void Router::RunReaper() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    changed_.wait_for(lock, kReapEvery, [this]() WEIR_REQUIRES(mutex_) { return stopped_; });
    const TimePoint now = clock_.Now();
    const auto over = std::stable_partition(entries_.begin(), entries_.end(),
                                            [now](const Entry& entry) { return !entry.lease || now < *entry.lease; });
    Entries ended(std::make_move_iterator(over), std::make_move_iterator(entries_.end()));
    entries_.erase(over, entries_.end());
    lock.unlock();
    ended.clear();
    lock.lock();
  }
}

void Router::Stop() {
  Entries ended;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
    ended = std::exchange(entries_, {});
  }
  for (const Entry& entry : ended) entry.link->StopSoon();
  ended.clear();
  if (reaper_.joinable()) reaper_.join();
}

}  // namespace weir
