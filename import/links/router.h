// Router: the links of a relay with other relays (link.h): those of the section `router` of weir.yaml, and those that
// administrators have opened (`weir stream`). A link of the latter kind lives as long as it is renewed.
//
//   Router router(services);
//   router.Use(orders);                       // of weir.yaml; again when the file has changed
//   Result<uint64_t> id = router.Open(order);
//   router.Renew(id.value());                 // at least every kLease
//
// Threads: any thread may call any function. Use, Open, Close and Stop wait until links have ended, which takes a
// moment each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "import/links/link.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/relay_plugin.h"

namespace weir {

// The figures of all links with a relay, of one group.
struct LinkTotals {
  uint64_t connections = 0;
  uint64_t received = 0;
  uint64_t saved = 0;
  uint64_t accepted = 0;
  uint64_t refused = 0;
};

class Router {
 public:
  static constexpr size_t kMostLinks = 64;         // in weir.yaml
  static constexpr size_t kMostOpened = 16;        // by administrators, at a time
  static constexpr uint64_t kMostComparisons = 4;  // at once
  static constexpr Duration kLease = std::chrono::seconds(30);
  // Subscribers get events that come over a link if they are not older than this. A comparison may bring the events of
  // years.
  static constexpr uint64_t kNewsSeconds = 24 * 3600;

  // `clock` measures the leases.
  explicit Router(const RelayServices& services, const Clock& clock = Clock::System());
  // Calls Stop.
  ~Router();

  // Makes the links of weir.yaml those of the orders. A link whose order is unchanged goes on. Returns an error, and
  // changes nothing, if a plugin cannot be started.
  Status Use(std::vector<LinkOrder> orders);
  // Opens a link until it is closed or not renewed, and returns its id.
  Result<uint64_t> Open(LinkOrder order);
  // Returns the state of a link that was opened; nullopt if there is none with this id.
  std::optional<LinkState> Renew(uint64_t id);
  bool Close(uint64_t id);

  // Returns the states of all links. Those of weir.yaml come first, in its order.
  std::vector<LinkState> List() const;
  // Returns the figures by URL and group, also of links that have ended.
  using AllTotals = std::map<std::pair<std::string, std::string>, LinkTotals>;
  AllTotals Totals() const;
  // Ends all links, and begins no more.
  void Stop();

 private:
  struct Entry {
    uint64_t id = 0;
    std::shared_ptr<PolicyPlugin> plugin;  // is shared by the links of a group, and outlives the link
    std::unique_ptr<Link> link;
    std::optional<TimePoint> lease;  // is set for a link that was opened
  };

  using Entries = std::vector<Entry>;

  Result<std::shared_ptr<PolicyPlugin>> StartPlugin(const LinkOrder& order) const;
  Entry Begin(LinkOrder order, std::shared_ptr<PolicyPlugin> plugin) WEIR_REQUIRES(mutex_);
  static LinkState StateOf(const Entry& entry);
  static void AddTotals(const Entry& entry, AllTotals* all);
  void RunReaper();

  const RelayServices services_;
  const Clock& clock_;
  RunningLimit comparisons_{kMostComparisons};

  mutable Mutex mutex_;
  Condition changed_;
  Entries entries_ WEIR_GUARDED_BY(mutex_);  // the links of weir.yaml come first
  // Begins at random, because a link of an earlier process must not be taken for a new one: two may start in one
  // second.
  uint64_t last_id_ WEIR_GUARDED_BY(mutex_);
  AllTotals ended_ WEIR_GUARDED_BY(mutex_);  // sums over the links that have ended
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread reaper_;  // ends the links that are not renewed
};

}  // namespace weir
