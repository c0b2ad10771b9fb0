#include "throttle/descriptors/descriptor_limiter.h"

#include <algorithm>
#include <utility>

#include "throttle/by_name/shards.h"
#include "throttle/descriptors/descriptor_shard.h"

namespace weir {
namespace {

void Count(std::atomic<uint64_t>& counter, uint64_t more = 1) {
  if (more > 0) counter.fetch_add(more, std::memory_order_relaxed);
}

constexpr size_t kUsualNameBytes = 96;

// How much of what lies between the two is beyond the threshold.
uint64_t Beyond(uint64_t threshold, uint64_t before, uint64_t after) {
  return after - std::clamp(threshold, before, after);
}

// As the published service has it, in its precision.
uint64_t NearOf(uint64_t limit) { return static_cast<uint64_t>(static_cast<float>(limit) * 0.8F); }

// What is wrong, or nothing.
std::string FaultOf(const DescriptorRequest& request) {
  if (request.domain.empty()) return "the domain is empty";
  const size_t descriptors = request.descriptors.size();
  if (descriptors == 0) return "there is no descriptor";
  if (descriptors > kMostDescriptors)
    return std::to_string(descriptors) + " descriptors, at most " + std::to_string(kMostDescriptors) + " are taken";
  for (size_t i = 0; i < descriptors; ++i) {
    const AskedDescriptor& asked = request.descriptors[i];
    const auto fault = [i](size_t count, std::string_view what, size_t most) {
      return "descriptor " + std::to_string(i + 1) + " has " + std::to_string(count) + std::string(what) +
             ", at most " + std::to_string(most) + " are taken";
    };
    if (asked.entries.size() > kMostEntries) return fault(asked.entries.size(), " entries", kMostEntries);
    size_t bytes = request.domain.size();
    for (const DescriptorEntry& entry : asked.entries) bytes += entry.key.size() + entry.value.size();
    if (bytes > kMostDescriptorBytes) return fault(bytes, " bytes, domain included", kMostDescriptorBytes);
  }
  return "";
}

}  // namespace

// A request until its last descriptor is charged. Where a shard is taken, what is left there holds it.
class DescriptorLimiter::Call final : public std::enable_shared_from_this<Call> {
 public:
  Call(DescriptorLimiter& limiter, Done done) : limiter_(limiter), done_(std::move(done)) {
    answer_.rules = limiter.rules();
  }

  void Run(const DescriptorRequest& request) {
    answer_.reason = FaultOf(request);
    if (!answer_.reason.empty()) return Finish(DescriptorAnswer::Code::kInvalid);
    parts_.resize(request.descriptors.size());
    answer_.statuses.resize(request.descriptors.size());
    if (const DescriptorRules::Domain* domain = answer_.rules->Find(request.domain)) {
      for (size_t i = 0; i < parts_.size(); ++i) Match(*domain, request, i);
      DropReplaced();
    } else {
      Count(limiter_.counters_.unknown_domain, parts_.size());
    }
    missing_ = static_cast<size_t>(std::ranges::count_if(parts_, &Part::is_charged));
    if (missing_ == 0) return Judge();
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].is_charged) Charge(i);
  }

 private:
  using Charged = std::optional<DescriptorShard::Charged>;
  struct Part {
    const DescriptorRules::Limit* rule = nullptr;  // null: it has none, or brought its own
    RuleCounts* counts = nullptr;
    uint64_t hits = 0;
    bool is_charged = false;
    bool quota_mode = false;
    std::string name;  // by which it is charged
  };

  void Match(const DescriptorRules::Domain& domain, const DescriptorRequest& request, size_t i) {
    const AskedDescriptor& asked = request.descriptors[i];
    Part& part = parts_[i];
    DescriptorStatus& status = answer_.statuses[i];
    part.hits = asked.hits.value_or(std::max(1U, request.hits));
    part.name.reserve(kUsualNameBytes);
    part.name.push_back(0);
    AppendToName(domain.name, &part.name);
    if (asked.limit) {
      status.limit = asked.limit;
      part.counts = domain.overrides.get();
      for (const DescriptorEntry& entry : asked.entries) {
        AppendToName(entry.key, &part.name);
        AppendToName(entry.value, &part.name);
      }
    } else {
      part.rule = DescriptorRules::LimitOf(domain, asked.entries, &part.name);
      if (part.rule == nullptr) return Count(limiter_.counters_.without_limit);
      part.counts = part.rule->counts.get();
      status.unlimited = part.rule->unlimited;
      if (status.unlimited) return;
      status.limit = part.rule->limit;
      status.limit_name = part.rule->name;
      part.quota_mode = part.rule->quota_mode;
    }
    part.name[0] = static_cast<char>(status.limit->unit);
    part.is_charged = true;
  }

  void DropReplaced() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (!part.is_charged || part.rule == nullptr || part.rule->name.empty() || !IsReplaced(part.rule->name)) continue;
      part.is_charged = part.quota_mode = false;
      answer_.statuses[i] = {};
    }
  }
  bool IsReplaced(const std::string& name) const {
    return std::ranges::any_of(parts_, [&](const Part& part) {
      return part.rule != nullptr && std::ranges::find(part.rule->replaces, name) != part.rule->replaces.end();
    });
  }

  void Charge(size_t i) {
    const Part& part = parts_[i];
    const LimitUnit unit = answer_.statuses[i].limit->unit;
    const HashedName name(part.name);
    bool at_once = false;
    Charged charged;
    limiter_.shards_->DoAt(
        name.hash,
        [&](DescriptorShard& shard) {
          charged = shard.Charge(name, unit, part.hits);
          at_once = true;
        },
        [&] {
          return [self = shared_from_this(), i, unit](DescriptorShard& shard) {
            const Part& left = self->parts_[i];
            self->Settle(i, shard.Charge(HashedName(left.name), unit, left.hits));
          };
        });
    if (at_once) Settle(i, charged);
  }

  void Settle(size_t i, const Charged& charged) {
    if (charged) {
      Tell(*charged, parts_[i], &answer_.statuses[i]);
    } else {
      too_many_names_.store(true, std::memory_order_relaxed);
    }
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) Judge();
  }

  static void Tell(const DescriptorShard::Charged& charged, const Part& part, DescriptorStatus* status) {
    const uint64_t limit = status->limit->requests_per_unit;
    const uint64_t over = Beyond(limit, charged.before, charged.after);
    const bool shadow = part.rule != nullptr && part.rule->shadow_mode;
    status->over = charged.after > limit && !shadow;
    status->remaining = static_cast<uint32_t>(limit - std::min(limit, charged.after));
    status->until_reset = charged.until_reset;
    Count(part.counts->over, over);
    Count(part.counts->near, Beyond(NearOf(limit), std::min(charged.before, limit), std::min(charged.after, limit)));
    if (shadow) Count(part.counts->shadow, over);
  }

  void Judge() {
    bool over = false;
    size_t in_quota_mode = 0, of_them_over = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      if (part.is_charged || answer_.statuses[i].unlimited) Count(part.counts->hits, part.hits);
      if (part.quota_mode) {
        ++in_quota_mode;
        of_them_over += answer_.statuses[i].over ? 1 : 0;
      } else if (answer_.statuses[i].over) {
        over = true;
      }
    }
    if (over || (in_quota_mode > 0 && of_them_over == in_quota_mode)) {
      if (!limiter_.shadow_) return Finish(DescriptorAnswer::Code::kOverLimit);
      Count(limiter_.counters_.let_pass);
    } else if (too_many_names_.load(std::memory_order_relaxed)) {
      return Finish(DescriptorAnswer::Code::kTooManyNames);
    }
    Finish(DescriptorAnswer::Code::kOk);
  }

  void Finish(DescriptorAnswer::Code code) {
    answer_.code = code;
    Count(limiter_.counters_.answers[static_cast<size_t>(code)]);
    done_(std::move(answer_));
  }

  DescriptorLimiter& limiter_;
  const Done done_;
  DescriptorAnswer answer_;
  std::vector<Part> parts_;
  std::atomic<size_t> missing_{0};
  std::atomic<bool> too_many_names_{false};
};

DescriptorLimiter::DescriptorLimiter(DescriptorConfig config)
    : DescriptorLimiter(std::move(config), WallClock::System(), Clock::System()) {
  shards_->StartTicking();
}

DescriptorLimiter::DescriptorLimiter(DescriptorConfig config, const WallClock& wall_clock, const Clock& clock)
    : shadow_(config.shadow),
      bytes_(config.max_bytes),
      rules_(std::move(config.rules)),
      shards_(std::make_unique<Shards<DescriptorShard>>(
          config.shards, [&](size_t, Shards<DescriptorShard>::WantsTick wants_tick) {
            return DescriptorShard({wall_clock, clock, bytes_, std::move(wants_tick)});
          })) {}

DescriptorLimiter::~DescriptorLimiter() = default;

void DescriptorLimiter::Ask(const DescriptorRequest& request, Done done) {
  std::make_shared<Call>(*this, std::move(done))->Run(request);
}

TimePoint DescriptorLimiter::Tick() { return shards_->Tick(); }

DescriptorCounts DescriptorLimiter::Counts() const {
  DescriptorCounts counts{.unknown_domain = counters_.unknown_domain.load(std::memory_order_relaxed),
                          .without_limit = counters_.without_limit.load(std::memory_order_relaxed),
                          .let_pass = counters_.let_pass.load(std::memory_order_relaxed),
                          .bytes = bytes_.held()};
  for (size_t code = 0; code < counts.answers.size(); ++code)
    counts.answers[code] = counters_.answers[code].load(std::memory_order_relaxed);
  for (size_t i = 0; i < shards_->size(); ++i) counts.names += (*shards_)[i].names();
  return counts;
}

}  // namespace weir
