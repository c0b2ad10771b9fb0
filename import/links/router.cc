#include "import/links/router.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
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
// Batches that may wait until subscribers have room for them.
constexpr size_t kMostUndelivered = 4;

// Counts the batches that are not delivered yet, and lets the next one wait.
class Undelivered : public std::enable_shared_from_this<Undelivered> {
 public:
  // Returns a token that counts as a batch for as long as it lives; null after Stop.
  std::shared_ptr<void> Enter() {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return stopped_ || batches_ < kMostUndelivered; });
    if (stopped_) return nullptr;
    ++batches_;
    return {this, [self = shared_from_this()](void*) { self->Leave(); }};
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
  SaveEvents save = [&events = services.events, &context, undelivered](std::span<const Event> batch,
                                                                       std::span<SaveResult> results) {
    std::shared_ptr<void> token = undelivered->Enter();
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

Router::Router(const RelayServices& services, const Clock& clock)
    : services_(services), clock_(clock), last_id_(uint64_t{std::random_device{}()} << 20) {
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

Router::Entry Router::Begin(LinkOrder order, std::shared_ptr<PolicyPlugin> plugin) {
  Entry entry{.id = ++last_id_, .plugin = std::move(plugin), .link = {}, .lease = {}};
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
                     .nice = WorkPool::kBulkNice};
    return std::unique_ptr<Destination>(std::make_unique<LocalDestination>(std::move(parts), options, on_settled));
  };
  RelayContext& context = services.context;
  entry.link = std::make_unique<Link>(LinkParts{.store = context.store,
                                                .delivery = context.delivery,
                                                .settings = context.settings,
                                                .admit_read = AdmitAsBulk(context.limiter, Operation::kRead),
                                                .comparisons = comparisons_,
                                                .open = open,
                                                .clock = context.clock},
                                      std::move(order));
  return entry;
}

Status Router::Use(std::vector<LinkOrder> orders) {
  struct Next {
    LinkOrder order;
    Entry* runs = nullptr;  // the link that has this order already
    std::shared_ptr<PolicyPlugin> plugin;
  };
  std::vector<Next> next;
  Entries ended;  // destroyed after the lock is released, because that waits
  const MutexLock lock(mutex_);
  if (stopped_) return {};
  for (LinkOrder& order : orders) {
    const auto running = std::ranges::find_if(
        entries_, [&order](const Entry& entry) { return !entry.lease && entry.link->order() == order; });
    next.push_back({std::move(order), running != entries_.end() ? &*running : nullptr, nullptr});
    if (next.back().runs != nullptr) next.back().plugin = running->plugin;
  }
  // Plugins are started before anything changes, because one of them may fail.
  for (Next& one : next) {
    if (one.runs != nullptr || one.order.plugin.empty()) continue;
    const auto same = std::ranges::find_if(next, [&one](const Next& other) {
      return other.plugin && other.order.group == one.order.group && other.order.plugin == one.order.plugin;
    });
    Result<std::shared_ptr<PolicyPlugin>> plugin = same != next.end() ? same->plugin : StartPlugin(one.order);
    if (!plugin.ok()) return plugin.status();
    one.plugin = std::move(plugin).value();
  }
  Entries entries;
  for (Next& one : next) {
    if (one.runs != nullptr) {
      entries.push_back(std::move(*one.runs));
    } else {
      entries.push_back(Begin(std::move(one.order), std::move(one.plugin)));
    }
  }
  for (Entry& entry : entries_)
    if (entry.link != nullptr) (entry.lease ? entries : ended).push_back(std::move(entry));
  for (const Entry& entry : ended) AddTotals(entry, &ended_);
  entries_ = std::move(entries);
  return {};
}

Result<uint64_t> Router::Open(LinkOrder order) {
  if (Status checked = Check(order); !checked.ok()) return checked;
  const MutexLock lock(mutex_);
  if (stopped_) return Status::Error("shutting down");
  const auto opened = std::ranges::count_if(entries_, [](const Entry& entry) { return entry.lease.has_value(); });
  if (static_cast<size_t>(opened) >= kMostOpened)
    return Status::Error("there are " + std::to_string(opened) + " links of this kind, and no more may be opened");
  entries_.push_back(Begin(std::move(order), nullptr));
  entries_.back().lease = clock_.Now() + kLease;
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
  AddTotals(*found, &ended_);
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

Router::AllTotals Router::Totals() const {
  const MutexLock lock(mutex_);
  AllTotals all = ended_;
  for (const Entry& entry : entries_) AddTotals(entry, &all);
  return all;
}

void Router::AddTotals(const Entry& entry, AllTotals* all) {
  const LinkState state = entry.link->State();
  LinkTotals& totals = (*all)[{state.order.url, state.order.group}];
  totals.connections += state.connections;
  totals.received += state.counts.received;
  totals.saved += state.came.saved[LineOutcome::kImported];
  totals.accepted += state.counts.accepted;
  totals.refused += state.counts.refused.sum();
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
    for (const Entry& entry : ended) AddTotals(entry, &ended_);
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
  for (const Entry& entry : ended)  // so that no save waits for an answer
    if (entry.plugin) entry.plugin->StopSoon();
  ended.clear();
  if (reaper_.joinable()) reaper_.join();
}

}  // namespace weir
