// DescriptorFixture: makes descriptors from texts, and rules, for a DescriptorLimiter on clocks that the test moves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "gtest/gtest.h"
#include "throttle/limits/descriptors/descriptor_limiter.h"

namespace weir {

// Parses "key=value/key=value". The text must outlive the entries.
inline std::vector<DescriptorEntry> EntriesOf(std::string_view text) {
  std::vector<DescriptorEntry> entries;
  while (!text.empty()) {
    const size_t end = text.find('/');
    const std::string_view one = text.substr(0, end);
    const size_t equals = one.find('=');
    entries.push_back({one.substr(0, equals), equals == one.npos ? std::string_view() : one.substr(equals + 1)});
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return entries;
}

inline WrittenLimit PerUnit(uint32_t requests, LimitUnit unit = LimitUnit::kPerMinute) {
  return {.unit = unit, .requests_per_unit = requests};
}

// A descriptor of a test's request, as text.
struct AskedText {
  AskedText(const char* descriptor) : text(descriptor) {}  // NOLINT: a text is one without more
  AskedText(std::string descriptor, std::optional<uint64_t> its_hits = {}, std::optional<UnitLimit> its_limit = {})
      : text(std::move(descriptor)), hits(its_hits), limit(its_limit) {}

  std::string text;
  std::optional<uint64_t> hits;
  std::optional<UnitLimit> limit;
};

class DescriptorFixture : public testing::Test {
 protected:
  using Code = DescriptorAnswer::Code;
  using Node = DescriptorRules::Node;

  // Adds a rule beneath a node, or beneath the domain "d".
  Node* Rule(DescriptorRule rule, Node* beneath = nullptr) {
    if (domain_ == nullptr) domain_ = rules_->AddDomain("d");
    auto added = (beneath == nullptr ? domain_ : beneath)->Add(std::move(rule));
    EXPECT_TRUE(added.ok()) << added.status().message();
    return added.ok() ? added.value() : nullptr;
  }
  std::string ErrorOf(DescriptorRule rule) {
    if (domain_ == nullptr) domain_ = rules_->AddDomain("d");
    return domain_->Add(std::move(rule)).status().message();
  }

  DescriptorLimiter& limiter() {
    if (!limiter_) {
      config_.rules = rules_;
      limiter_.emplace(config_, wall_clock_, clock_);
    }
    return *limiter_;
  }
  DescriptorAnswer Ask(const std::vector<AskedText>& descriptors, uint32_t hits = 1, std::string_view domain = "d") {
    std::vector<std::vector<DescriptorEntry>> entries;
    std::vector<AskedDescriptor> asked;
    for (const AskedText& each : descriptors) entries.push_back(EntriesOf(each.text));
    for (size_t i = 0; i < entries.size(); ++i)
      asked.push_back({.entries = entries[i], .limit = descriptors[i].limit, .hits = descriptors[i].hits});
    std::optional<DescriptorAnswer> answer;
    limiter().Ask({.domain = domain, .descriptors = asked, .hits = hits}, [&](DescriptorAnswer given) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(given);
    });
    return answer.value();
  }
  bool Passes(const std::vector<AskedText>& descriptors) { return Ask(descriptors).code == Code::kOk; }
  int PassesOf(int count, const AskedText& descriptor) {
    int passed = 0;
    for (int i = 0; i < count; ++i) passed += Passes({descriptor}) ? 1 : 0;
    return passed;
  }
  void Pass(std::chrono::seconds time) {
    wall_clock_.Advance(time);
    clock_.Advance(time);
    limiter().Tick();
  }
  const RuleCounts& CountsOf(const std::string& path) const { return *rules_->counted().at({"d", path}); }

  ManualWallClock wall_clock_{WallTime(std::chrono::seconds(1'700'000'040))};  // exactly 14 minutes past an hour
  ManualClock clock_{TimePoint(std::chrono::hours(5))};
  std::shared_ptr<DescriptorRules> rules_ = std::make_shared<DescriptorRules>();
  Node* domain_ = nullptr;
  DescriptorConfig config_{};
  std::optional<DescriptorLimiter> limiter_;
};

}  // namespace weir
