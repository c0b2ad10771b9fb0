// Properties that checks have whatever the figures are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "relay/doctor/check.h"
#include "tests/relay/doctor/healthy_facts.h"

namespace weir {
namespace {

RC_GTEST_PROP(DoctorChecksProperty, LessRoomIsNeverBetter, ()) {
  const auto severity = [](uint64_t bytes, uint64_t free) {
    Facts facts = HealthyFacts();
    facts.directories[0].bytes = bytes;
    facts.directories[0].free_bytes = free;
    return Worst(Examine(facts));
  };
  const auto bytes = *rc::gen::inRange<uint64_t>(1, uint64_t{1} << 44);
  const auto more = *rc::gen::inRange<uint64_t>(0, bytes + 1);
  const auto less = *rc::gen::inRange<uint64_t>(0, more + 1);
  RC_ASSERT(severity(bytes, less) >= severity(bytes, more));
}

RC_GTEST_PROP(DoctorChecksProperty, ASlowerDiskIsNeverBetter, ()) {
  const auto severity = [](int median_us, int worst_us) {
    Facts facts = HealthyFacts();
    facts.directories[0].syncs = SyncFacts{
        .count = 3, .median = std::chrono::microseconds(median_us), .worst = std::chrono::microseconds(worst_us)};
    return Worst(Examine(facts));
  };
  const int median = *rc::gen::inRange(0, 2'000'000);
  const int worst = *rc::gen::inRange(median, 4'000'000);
  const int slower = *rc::gen::inRange(0, 1'000'000);
  RC_ASSERT(severity(median + slower, worst + slower) >= severity(median, worst));
}

// An instance may say anything.
RC_GTEST_PROP(DoctorChecksProperty, EveryFindingIsWholeWhateverAnInstanceSays, ()) {
  Facts facts = HealthyFacts();
  static const std::vector<std::string> kSamples = {"process_start_time_seconds",
                                                    "process_resident_memory_bytes",
                                                    "process_open_fds",
                                                    "process_max_fds",
                                                    "weir_throttle_emergency",
                                                    "weir_throttle_sensor_lost",
                                                    "weir_throttle_open{class=\"interactive\"}",
                                                    "weir_throttle_limiting{class=\"interactive\",signal=\"l0\"}",
                                                    "weir_throttle_escapes_total",
                                                    "weir_memory_used_bytes",
                                                    "weir_memory_target_bytes",
                                                    "weir_commit_failed_events_total",
                                                    "weir_refusals_total{prefix=\"rate-limited\"}",
                                                    "weir_tls_certificate_expiry_seconds",
                                                    "weir_quota_store_breaker",
                                                    "weir_siblings_reads"};
  std::string text = HealthyMetrics();
  for (const std::string& sample : kSamples) {
    const auto number = *rc::gen::element<std::string>("0", "1", "-1", "1e308", "-1e308", "5e-324", "NaN", "+Inf", "x");
    text.append(sample).append(" ").append(number).append("\n");
  }
  facts.instances[0].metrics = Scrape(text);
  for (const Finding& finding : Examine(facts)) {
    RC_ASSERT(!finding.name.empty());
    RC_ASSERT(!finding.saw.empty());
    RC_ASSERT(!finding.why.empty());
    RC_ASSERT(!finding.act.empty());
    for (const std::string& command : finding.commands) RC_ASSERT(command.find('\n') == command.npos);
  }
}

}  // namespace
}  // namespace weir
