// Floods the relay with events of fresh keys from many addresses, more than it can take, while regulars publish and
// read. The relay must trust the operator (kOperator): the operator's list of follows has the regulars.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <set>

#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/readers.h"
#include "bench/relay/replies.h"
#include "bench/relay/usage_meter.h"
#include "relay/nostr/event.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

// The seed of the operator's key, whose public key is
// 6d6b18a55cf311c5b4b55137c95fd7a664ddd565e1fb121928dcb479c4ad0665; bench/ladder sets it as WEIR_TRUST_FROM.
constexpr uint64_t kOperator = 20261129;

class Flood final : public LoadScenario {
 public:
  std::string_view name() const override { return "flood"; }
  std::string_view meaning() const override { return "fresh keys from many addresses, and what regulars feel"; }

  void AddOptions(CommandLine line) override {
    line.Add("--seconds", &seconds_, "of the flood").ShowDefault().Within(1.0, 86'400.0);
    line.Add("--fresh-keys", &keys_, "authors of the flood").ShowDefault().Within(1, 1'000'000);
    line.Add("--addresses", &addresses_, "loopback addresses of the flood").ShowDefault().Within(1, 10'000);
    line.Add("--in-flight", &window_, "events unanswered of each address").ShowDefault().Within(1, 100'000);
    line.Add("--flood-events", &events_, "that are signed; if all are answered, the flood ends before its time")
        .ShowDefault()
        .Within(1, 10'000'000);
    line.Add("--regulars", &regulars_, "that publish and read, each from an address of its own")
        .ShowDefault()
        .Within(1, 200);
    line.Add("--regular-rate", &regular_rate_, "events a second of all regulars").ShowDefault().Within(0.1, 100'000.0);
    line.Add("--interval-ms", &interval_ms_, "of a regular's REQs").ShowDefault().Within(1, 60'000);
    line.Add("--settle-seconds", &settle_seconds_, "until the relay knows whom the operator follows")
        .ShowDefault()
        .Within(0.0, 3600.0);
    line.Add("--timeline", &timeline_, "print what regulars felt in each second");
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const double seconds = plan.Scaled(seconds_);
    const auto flood_events = Notes(plan, "flood", plan.Scaled(events_), keys_);
    if (!flood_events.ok()) return flood_events.status();
    // Enough for the flood and a minute more, in which the relay answers what waits.
    const auto regular_count = static_cast<size_t>(regular_rate_ * (seconds + 60)) + regulars_;
    const auto regular_events = Notes(plan, "flood-regulars", regular_count, regulars_);
    if (!regular_events.ok()) return regular_events.status();

    Loop loop(plan.patience + FromSeconds(seconds + settle_seconds_));
    if (Status s = Follow(regular_events.value(), target.endpoint, &loop); !s.ok()) return s;
    if (Status s = loop.RunFor(FromSeconds(settle_seconds_)); !s.ok()) return s;

    Publisher flood(flood_events.value());
    Publisher regulars(regular_events.value());
    Readers readers;
    const std::vector<Endpoint> of_regulars = From(target.endpoint, "127.2.", regulars_);
    if (Status s = regulars.Connect(of_regulars, &loop); !s.ok()) return s;
    if (Status s = flood.Connect(From(target.endpoint, "127.3.", addresses_), &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    oks_.Clear();
    reads_.Clear();
    if (Status s = readers.Start(of_regulars, regular_events.value(), std::chrono::milliseconds(interval_ms_),
                                 plan.seed, &loop);
        !s.ok())
      return s;
    flood.StartClosedLoop(window_);
    regulars.StartPaced(regular_rate_, &loop);
    const auto is_over = [&] { return flood.answered() == flood_events.value().size(); };
    const TimePoint end = Loop::Now() + FromSeconds(seconds);
    for (int second = 1; Loop::Now() < end && !is_over(); ++second) {
      if (Status s = loop.RunFor(std::min<Duration>(std::chrono::seconds(1), end - Loop::Now()), is_over); !s.ok())
        return s;
      if (timeline_) PrintSecond(second, flood, &regulars, &readers);
    }
    LoadFigures figures;
    AddFlood(flood, regulars, &figures);
    if (Status s = meter.value().AddProcessor("event taken", Taken(flood, regulars), &figures); !s.ok()) return s;
    if (Status s = meter.value().AddDisk("event taken", Taken(flood, regulars), &figures); !s.ok()) return s;
    if (Status s = meter.value().AddMemory(&figures); !s.ok()) return s;
    flood.Stop();
    regulars.Stop();
    readers.Stop();
    if (Status s = regulars.AwaitAnswers(&loop); !s.ok()) return s;
    if (Status s = loop.Run([&] { return readers.idle(); }, "the last EOSE"); !s.ok()) return s;
    AddRegulars(regulars, readers, &figures);
    return figures;
  }

 private:
  static constexpr size_t kNoteBytes = 120;

  static Result<EventSet> Notes(const LoadPlan& plan, const std::string& purpose, size_t count, size_t authors) {
    EventRecipe recipe = plan.Recipe(purpose + "-" + std::to_string(authors), count);
    recipe.own_authors = authors;
    recipe.content_bytes = kNoteBytes;
    return EventSet::Get(recipe, plan.cache);
  }

  // Returns endpoints for connections from as many addresses, which begin with `net`, such as "127.2.".
  static std::vector<Endpoint> From(const Endpoint& endpoint, const std::string& net, size_t addresses) {
    std::vector<Endpoint> endpoints(addresses, endpoint);
    for (size_t i = 0; i < addresses; ++i)
      endpoints[i].from = net + std::to_string(i / 250) + "." + std::to_string(1 + i % 250);
    return endpoints;
  }

  // Publishes the operator's list, which follows the authors of the events.
  static Status Follow(const EventSet& events, const Endpoint& endpoint, Loop* loop) {
    std::set<std::string_view> authors;
    for (size_t i = 0; i < events.size(); ++i) authors.insert(PlainField(events.json(i), "pubkey"));
    std::string tags = "[";
    for (const std::string_view author : authors)
      tags.append(tags.size() > 1 ? ",[\"p\",\"" : "[\"p\",\"").append(author).append("\"]");
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(WallClock::System().Now().time_since_epoch());
    auto list = EventSet::FromLines(
        Signer(kOperator).SignedEvent(static_cast<uint64_t>(now.count()), 3, tags + "]", "") + "\n");
    if (!list.ok()) return list.status();
    Publisher of_operator(list.value());
    if (Status s = of_operator.Connect(endpoint, 1, loop); !s.ok()) return s;
    of_operator.StartClosedLoop(1);
    Status answered = of_operator.AwaitAnswers(loop);
    of_operator.Leave(loop);
    if (answered.ok() && of_operator.accepted() == 0) return Status::Error("the relay refused the operator's list");
    return answered;
  }

  static double Taken(const Publisher& flood, const Publisher& regulars) {
    return static_cast<double>(flood.accepted() + regulars.accepted());
  }
  static void AddFlood(const Publisher& flood, const Publisher& regulars, LoadFigures* figures) {
    const auto bytes = static_cast<double>(flood.accepted_bytes());
    figures->push_back({"seconds", "s", flood.seconds()});
    figures->push_back({"strangers answered", "events/s", static_cast<double>(flood.answered()) / flood.seconds()});
    figures->push_back({"strangers taken", "events/s", static_cast<double>(flood.accepted()) / flood.seconds()});
    figures->push_back({"strangers taken", "MB/s", bytes / flood.seconds() / 1e6});
    figures->push_back(
        {"strangers' part of what was taken", "", bytes / (bytes + static_cast<double>(regulars.accepted_bytes()))});
    AddLatency("strangers' OK", flood.latency(), figures);
  }
  // Prints what the regulars felt in a second, so that a reader sees when the relay began to hold back the flood.
  void PrintSecond(int second, const Publisher& flood, Publisher* regulars, Readers* readers) {
    LatencyHistogram oks;
    LatencyHistogram reads;
    regulars->MoveLatencyTo(&oks);
    readers->MoveLatencyTo(&reads);
    std::fprintf(stderr,
                 "%4d s: strangers answered %8zu taken %8zu; regulars' OKs %4" PRIu64
                 " p50 %7.1f max %7.1f ms; REQs %4" PRIu64 " p50 %7.1f max %7.1f ms\n",
                 second, flood.answered(), flood.accepted(), oks.count(), Milliseconds(oks.Quantile(0.5)),
                 Milliseconds(oks.max()), reads.count(), Milliseconds(reads.Quantile(0.5)), Milliseconds(reads.max()));
    oks_.Merge(oks);
    reads_.Merge(reads);
  }
  void AddRegulars(const Publisher& regulars, const Readers& readers, LoadFigures* figures) {
    figures->push_back({"regulars taken", "", static_cast<double>(regulars.accepted())});
    figures->push_back({"regulars refused", "", static_cast<double>(regulars.answered() - regulars.accepted())});
    oks_.Merge(regulars.latency());
    readers.MergeInto(&reads_);
    AddLatency("regulars' OK", oks_, figures);
    AddLatency("regulars' REQ", reads_, figures);
    figures->push_back({"regulars' REQs closed", "", static_cast<double>(readers.closed())});
  }

  double seconds_ = 300;
  size_t keys_ = 10'000;
  size_t addresses_ = 100;
  size_t window_ = 64;
  size_t events_ = 6'000'000;
  size_t regulars_ = 50;
  double regular_rate_ = 100;
  int interval_ms_ = 2000;
  double settle_seconds_ = 45;
  bool timeline_ = false;
  LatencyHistogram oks_;    // the regulars', without those that `regulars` still has
  LatencyHistogram reads_;  // likewise
};

}  // namespace

std::unique_ptr<LoadScenario> MakeFlood() { return std::make_unique<Flood>(); }

}  // namespace weir
