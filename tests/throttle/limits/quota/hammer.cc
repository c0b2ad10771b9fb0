#include "tests/throttle/limits/quota/hammer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/fixtures/command_child.h"
#include "tests/fixtures/eventually.h"
#include "throttle/limits/quota/open_store.h"

namespace weir {
namespace {

constexpr const char* kStoreName = "WEIR_QUOTA_HAMMER_STORE";
constexpr const char* kNumberName = "WEIR_QUOTA_HAMMER_NUMBER";
constexpr int64_t kNoLimit = 1'000'000'000;

using Children = std::vector<std::unique_ptr<CommandChild>>;

// Adds children that decide on the store, as `role` says.
void AddChildren(const std::string& role, const std::string& store, size_t processes, int64_t number,
                 Children* children) {
  Environment environment = ProcessEnvironment();
  environment.insert_or_assign(kHammerRole, role);
  environment.insert_or_assign(kStoreName, store);
  environment.insert_or_assign(kNumberName, std::to_string(number));
  for (size_t i = 0; i < processes; ++i)
    children->push_back(std::make_unique<CommandChild>(std::vector<std::string>{"hammer"}, environment));
}

// Waits for a child. Returns its output, and counts it if it failed.
std::string OutputOf(CommandChild& child, int64_t* failed) {
  const Ran ran = child.Wait();
  if (ran.code != 0 || !ran.out.ends_with('\n')) {
    ++*failed;
    std::fprintf(stderr, "hammer: exit code %d: %s\n", ran.code, ran.err.c_str());
  }
  return ran.out;
}

HammerSum Hammer(const std::string& role, const std::string& store, size_t processes, int64_t number) {
  Children children;
  AddChildren(role, store, processes, number, &children);
  HammerSum sum;
  for (const auto& child : children) {
    std::istringstream line(OutputOf(*child, &sum.failed));
    HammerSum part;
    if (!(line >> part.requests >> part.tokens >> part.unavailable))
      throw std::runtime_error("hammer: no sum: " + line.str());
    sum.requests += part.requests;
    sum.tokens += part.tokens;
    sum.unavailable += part.unavailable;
  }
  return sum;
}

// A child's store, and a sum of what the child got from it.
class Worker {
 public:
  Worker(QuotaStore& store, std::vector<TierCharge> tiers) : store_(store), tiers_(std::move(tiers)) {}

  // Asks again until there is an answer.
  ChargeAnswer Ask(Charge::Mode mode, int64_t tokens) {
    const Charge charge{.model = kHammeredModel,
                        .mode = mode,
                        .tokens = tokens,
                        .tiers = tiers_,
                        .tiers_before_model = 0,
                        .default_quota = ModelQuota{},
                        .hold_for = std::chrono::hours(1)};
    while (true) {
      ChargeAnswer answer = store_.Run(charge);
      if (answer.code != QuotaCode::kStoreUnavailable) return answer;
      ++sum_.unavailable;
    }
  }
  void Settle(const std::string& reservation, std::optional<int64_t> tokens) {
    while (true) {
      const SettlementAnswer answer = store_.Run(Settlement{.reservation = reservation, .tokens = tokens});
      if (answer.code == SettlementAnswer::Code::kSettled) return;
      if (answer.code == SettlementAnswer::Code::kUnknown) throw std::runtime_error("the reservation is gone");
      ++sum_.unavailable;
    }
  }
  void Count(int64_t tokens) {
    ++sum_.requests;
    sum_.tokens += tokens;
  }
  const HammerSum& sum() const { return sum_; }

 private:
  QuotaStore& store_;
  std::vector<TierCharge> tiers_;
  HammerSum sum_;
};

void TakeAll(Worker& worker) {
  std::minstd_rand random(static_cast<unsigned>(getpid()));
  std::uniform_int_distribution<int64_t> amounts(1, 7);
  while (true) {
    int64_t tokens = amounts(random);
    bool took = worker.Ask(Charge::Mode::kTake, tokens).fits();
    if (!took && tokens > 1) {
      tokens = 1;
      took = worker.Ask(Charge::Mode::kTake, tokens).fits();
    }
    if (!took) return;
    worker.Count(tokens);
  }
}

void Record(Worker& worker, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    (void)worker.Ask(Charge::Mode::kForce, 3);
    worker.Count(3);
  }
}

void ReserveAndSettle(Worker& worker, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    const int64_t used = 5 + i % 11;  // less than reserved, just as much, or more
    worker.Settle(worker.Ask(Charge::Mode::kHold, 10).reservation, used);
    worker.Count(used);
    worker.Settle(worker.Ask(Charge::Mode::kHold, 10).reservation, {});
  }
}

// The times when a decision was asked for and answered, and the tokens granted.
struct Grant {
  int64_t asked = 0;
  int64_t answered = 0;
  int64_t tokens = 0;
};

// The steady clock is the same for all processes of the machine, and never steps.
int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

template <typename Work>
void ForTwoAndAHalfWindows(Work work) {
  const auto end = std::chrono::steady_clock::now() + kHammeredWindow * 5 / 2;
  while (std::chrono::steady_clock::now() < end) work();
}

void TakeFromWindow(Worker& worker) {
  std::minstd_rand random(static_cast<unsigned>(getpid()));
  std::uniform_int_distribution<int64_t> amounts(1, 7);
  std::vector<Grant> grants;
  ForTwoAndAHalfWindows([&] {
    Grant grant{.asked = NowNs(), .tokens = amounts(random)};
    if (!worker.Ask(Charge::Mode::kTake, grant.tokens).fits()) return;
    grant.answered = NowNs();
    grants.push_back(grant);
  });
  for (const Grant& grant : grants)
    std::printf("%lld %lld %lld\n", static_cast<long long>(grant.asked), static_cast<long long>(grant.answered),
                static_cast<long long>(grant.tokens));
  std::puts("end");
}

void PruneMeanwhile(QuotaStore& store) {
  int number = 0;
  ForTwoAndAHalfWindows([&] {
    store.Prune();
    const std::string name = "noise-" + std::to_string(++number);
    const TierCharge tier{.key = name, .limit = {.amount = 5, .per = kHammeredWindow}};
    const ChargeAnswer answer =
        store.Run(Charge{.model = name, .mode = Charge::Mode::kTake, .tokens = 1, .tiers = {&tier, 1}});
    const bool known =
        answer.fits() || answer.code == QuotaCode::kTooManyNames || answer.code == QuotaCode::kStoreUnavailable;
    if (!known) throw std::runtime_error("the noise was refused: " + std::string(NameOf(answer.code)));
  });
  std::puts("end");
}

// Leaves out 2 ms, because the times of the store and of its callers may differ in their last digits.
int64_t MostWithinAWindow(const std::vector<Grant>& grants) {
  const int64_t window = Duration(kHammeredWindow - std::chrono::milliseconds(2)).count();
  int64_t most = 0;
  for (const Grant& first : grants) {
    int64_t sum = 0;
    for (const Grant& grant : grants)
      if (grant.asked >= first.asked && grant.answered <= first.asked + window) sum += grant.tokens;
    most = std::max(most, sum);
  }
  return most;
}

[[noreturn]] void HoldUntilKilled(Worker& worker) {
  const ChargeAnswer answer = worker.Ask(Charge::Mode::kHold, 10);
  std::puts(answer.reservation.empty() ? "" : "held");
  std::fflush(stdout);
  while (true) pause();
}

TierCharge ShortTier(int64_t limit) {
  return {.key = "short", .limit = {.unit = Limit::Unit::kTokens, .amount = limit, .per = kHammeredWindow}};
}

std::vector<TierCharge> TiersOf(const std::string& role, int64_t number) {
  if (role == "window") return {ShortTier(number)};
  if (role == "hold") return {HammeredTier(kNoLimit), ShortTier(kNoLimit)};
  return {HammeredTier(role == "take" ? number : kNoLimit)};
}

}  // namespace

TierCharge HammeredTier(int64_t limit) {
  return {.key = "all", .limit = {.unit = Limit::Unit::kTokens, .amount = limit, .per = kDay}};
}

int64_t HammeredTokens(QuotaStore& store, ModelUsage* usage) {
  const TierCharge tier = HammeredTier(kNoLimit);
  const Charge charge{.model = kHammeredModel, .requests = 0, .tiers = {&tier, 1}, .default_quota = ModelQuota{}};
  const ChargeAnswer answer = store.Run(charge);
  if (usage != nullptr) *usage = answer.usage;
  return answer.tiers.empty() ? -1 : answer.tiers[0].used;
}

HammerSum HammerTakes(const std::string& store, size_t processes, int64_t limit) {
  return Hammer("take", store, processes, limit);
}

HammerSum HammerRecords(const std::string& store, size_t processes, int64_t times) {
  return Hammer("record", store, processes, times);
}

HammerSum HammerReservations(const std::string& store, size_t processes, int64_t times) {
  return Hammer("reserve", store, processes, times);
}

size_t HammerKilledHolders(const std::string& store, size_t processes) {
  Children children;
  AddChildren("hold", store, processes, 0, &children);
  size_t held = 0;
  for (const auto& child : children) {
    (void)Eventually([&] { return !child->out().empty() || !child->runs(); });
    child->Signal(SIGKILL);
    if (child->Wait().out == "held\n") ++held;
  }
  return held;
}

HammerWindow HammerSlidingWindow(const std::string& store, size_t processes, int64_t limit) {
  Children children;
  AddChildren("prune", store, 1, 0, &children);
  AddChildren("window", store, processes, limit, &children);
  std::vector<Grant> grants;
  HammerWindow result;
  for (const auto& child : children) {
    std::istringstream lines(OutputOf(*child, &result.failed));
    for (Grant grant; lines >> grant.asked >> grant.answered >> grant.tokens;) {
      grants.push_back(grant);
      result.taken += grant.tokens;
    }
  }
  result.most = MostWithinAWindow(grants);
  return result;
}

int RunHammerChild(const std::string& role) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // hammers whose test was killed took both cores until they were found
  QuotaStoreSettings settings;
  settings.store = std::getenv(kStoreName);
  settings.redis_timeout = std::chrono::seconds(30);
  settings.redis_connect_timeout = std::chrono::seconds(30);
  if (role == "prune") settings.max_models = settings.max_tier_keys = 2;
  const int64_t number = std::atoll(std::getenv(kNumberName));
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().message().c_str());
    return 1;
  }
  if (role == "prune") {
    PruneMeanwhile(*store.value());
    return 0;
  }
  Worker worker(*store.value(), TiersOf(role, number));
  if (role == "window") {
    TakeFromWindow(worker);
    return 0;
  }
  if (role == "take") TakeAll(worker);
  if (role == "record") Record(worker, number);
  if (role == "reserve") ReserveAndSettle(worker, number);
  if (role == "hold") HoldUntilKilled(worker);
  std::printf("%lld %lld %lld\n", static_cast<long long>(worker.sum().requests),
              static_cast<long long>(worker.sum().tokens), static_cast<long long>(worker.sum().unavailable));
  return 0;
}

}  // namespace weir
