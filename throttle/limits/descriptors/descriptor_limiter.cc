#include "throttle/limits/descriptors/descriptor_limiter.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "throttle/limits/by_name/shards.h"
#include "throttle/limits/descriptors/descriptor_shard.h"

namespace weir {
namespace {

void Count(std::atomic<uint64_t>& counter, uint64_t more = 1) {
  if (more > 0) counter.fetch_add(more, std::memory_order_relaxed);
}

constexpr size_t kUsualNameBytes = 96;

// Returns how many of the hits from `before` to `after` are beyond the threshold.
uint64_t Beyond(uint64_t threshold, uint64_t before, uint64_t after) {
  return after - std::clamp(threshold, before, after);
}

// Returns the count beyond which hits are near the limit, computed with the precision of the published service.
uint64_t NearOf(uint64_t limit) { return static_cast<uint64_t>(static_cast<float>(limit) * 0.8F); }

// Returns what is wrong with the request, or an empty text.
std::string FaultOf(const DescriptorRequest& request) {
  if (request.domain.empty()) return "the domain is empty";
  const size_t descriptors = request.descriptors.size();
  if (descriptors == 0) return "there is no descriptor";
  if (descriptors > kMostDescriptors)
    return std::to_string(descriptors) + " descriptors, at most " + std::to_string(kMostDescriptors) + " are taken";
  return "";
}

// Replaces a long name by its digest, but keeps its first byte, the unit. No client can find two names with one digest.
void ShortenName(std::string* name) {
  if (name->size() <= kMostNameBytes) return;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(name->data(), name->size(), digest.data(), &size, EVP_sha256(), nullptr);
  name->assign(1, name->front()).append(reinterpret_cast<const char*>(digest.data()), size);
}

}  // namespace

// A request whose descriptors are being charged. If a shard is busy, the work that is queued there shares the ownership
// of the Call.
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
      domain_ = &domain->name;
      for (size_t i = 0; i < parts_.size(); ++i) Match(*domain, request, i);
      DropReplaced();
    } else {
      Count(limiter_.counters_.unknown_domain, parts_.size());
    }
    missing_ = static_cast<size_t>(std::ranges::count_if(parts_, &Part::is_charged));
    if (missing_ == 0) return Judge();
    makes_names_ = missing_ == 1;
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].is_charged) Charge(i);
  }

 private:
  using Charged = std::optional<DescriptorShard::Charged>;
  struct Part {
    const DescriptorRules::Limit* rule = nullptr;  // null: the descriptor has no limit, or brings its own
    RuleCounts* counts = nullptr;
    uint64_t hits = 0;
    bool is_charged = false;     // the descriptor has a limit, so hits have to be charged to it
    bool is_new = false;         // its name was not charged yet in this window
    std::string name;            // the name under which the shard counts the descriptor
    std::string_view unit_name;  // Limit::unit_name
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
      part.unit_name = domain.override_names[static_cast<size_t>(asked.limit->unit)];
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
      status.quota_mode = part.rule->quota_mode;
      part.unit_name = part.rule->unit_name;
    }
    part.name[0] = static_cast<char>(status.limit->unit);
    ShortenName(&part.name);
    part.is_charged = true;
  }

  void DropReplaced() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (!part.is_charged || part.rule == nullptr || part.rule->name.empty() || !IsReplaced(part.rule->name)) continue;
      part.is_charged = false;
      answer_.statuses[i] = {};
    }
  }
  bool IsReplaced(const std::string& name) const {
    return std::ranges::any_of(parts_, [&](const Part& part) {
      return part.rule != nullptr && std::ranges::find(part.rule->replaces, name) != part.rule->replaces.end();
    });
  }

  void Charge(size_t i) {
    const HashedName name(parts_[i].name);
    bool at_once = false;
    Charged charged;
    limiter_.shards_->DoAt(
        name.hash,
        [&](DescriptorShard& shard) {
          charged = ChargeAt(shard, name, parts_[i]);
          at_once = true;
        },
        [&] {
          return [self = shared_from_this(), i](DescriptorShard& shard) {
            const Part& left = self->parts_[i];
            self->Settle(i, self->ChargeAt(shard, HashedName(left.name), left));
          };
        });
    if (at_once) Settle(i, charged);
  }
  Charged ChargeAt(DescriptorShard& shard, const HashedName& name, const Part& part) const {
    return makes_names_ ? shard.Charge(name, part.unit_name, part.hits) : shard.ChargeIfBegun(name, part.hits);
  }

  void Settle(size_t i, const Charged& charged) {
    if (charged) {
      Tell(*charged, i);
    } else {
      parts_[i].is_new = true;
    }
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    if (makes_names_) return Judge();
    ChargeNew();
  }

  // Charges the names that are new in their windows, after all others are charged. If the others suffice to refuse the
  // request, charges 0 hits to the new names, so that the shards do not store them.
  void ChargeNew() {
    missing_ = static_cast<size_t>(std::ranges::count_if(parts_, &Part::is_new));
    if (missing_ == 0) return Judge();
    makes_names_ = true;
    const bool over = std::ranges::any_of(answer_.statuses, Refuses);
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].is_new) continue;
      if (over) parts_[i].hits = 0;
      Charge(i);
    }
  }
  static bool Refuses(const DescriptorStatus& status) { return status.over && !status.quota_mode; }

  void Tell(const DescriptorShard::Charged& charged, size_t i) {
    const Part& part = parts_[i];
    DescriptorStatus& status = answer_.statuses[i];
    const uint64_t limit = status.limit->requests_per_unit;
    const uint64_t over = Beyond(limit, charged.before, charged.after);
    const bool shadow = part.rule != nullptr && part.rule->shadow_mode;
    status.over = charged.after > limit && !shadow;
    status.remaining = static_cast<uint32_t>(limit - std::min(limit, charged.after));
    status.until_reset = charged.until_reset;
    Count(part.counts->hits, part.hits);
    Count(part.counts->over, over);
    Count(part.counts->near, Beyond(NearOf(limit), std::min(charged.before, limit), std::min(charged.after, limit)));
    if (charged.after > limit) Count(part.counts->cut, part.hits);
    if (shadow) Count(part.counts->shadow, over);
    if (charged.with_others) TellOfOthers(part);
  }
  void TellOfOthers(const Part& part) const {
    Count(part.counts->with_others, part.hits);
    if (limiter_.on_crowded_)
      limiter_.on_crowded_(*domain_, part.rule == nullptr ? DescriptorRules::kOverrides : part.rule->path);
  }

  void Judge() {
    const auto quotas = std::ranges::count_if(answer_.statuses, &DescriptorStatus::quota_mode);
    const auto over = std::ranges::count_if(
        answer_.statuses, [](const DescriptorStatus& status) { return status.over && status.quota_mode; });
    if (std::ranges::any_of(answer_.statuses, Refuses) || (quotas > 0 && over == quotas)) {
      if (!limiter_.shadow_) return Finish(DescriptorAnswer::Code::kOverLimit);
      Count(limiter_.counters_.let_pass);
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
  const std::string* domain_ = nullptr;  // the domain's name in the rules
  bool makes_names_ = false;
  std::atomic<size_t> missing_{0};
};

DescriptorLimiter::DescriptorLimiter(DescriptorConfig config)
    : DescriptorLimiter(std::move(config), WallClock::System(), Clock::System()) {
  shards_->StartTicking();
}

DescriptorLimiter::DescriptorLimiter(DescriptorConfig config, const WallClock& wall_clock, const Clock& clock)
    : shadow_(config.shadow),
      on_crowded_(std::move(config.on_crowded)),
      rules_(std::move(config.rules)),
      shards_(std::make_unique<Shards<DescriptorShard>>(
          config.shards, [&](size_t, Shards<DescriptorShard>::WantsTick wants_tick) {
            return DescriptorShard(
                {wall_clock, clock, config.max_bytes / std::max<size_t>(1, config.shards), std::move(wants_tick)});
          })) {}

DescriptorLimiter::~DescriptorLimiter() = default;

void DescriptorLimiter::Ask(const DescriptorRequest& request, Done done) {
  std::make_shared<Call>(*this, std::move(done))->Run(request);
}

TimePoint DescriptorLimiter::Tick() { return shards_->Tick(); }

DescriptorCounts DescriptorLimiter::Counts() const {
  DescriptorCounts counts{.unknown_domain = counters_.unknown_domain.load(std::memory_order_relaxed),
                          .without_limit = counters_.without_limit.load(std::memory_order_relaxed),
                          .let_pass = counters_.let_pass.load(std::memory_order_relaxed)};
  for (size_t code = 0; code < counts.answers.size(); ++code)
    counts.answers[code] = counters_.answers[code].load(std::memory_order_relaxed);
  for (size_t i = 0; i < shards_->size(); ++i) {
    const DescriptorShard& shard = (*shards_)[i];
    counts.names += shard.names();
    counts.bytes += shard.bytes();
    counts.gave_way += shard.gave_way();
  }
  return counts;
}

}  // namespace weir
