#include "relay/plugins/plugin_health.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

// A fault that comes later than this after the one before it begins a new episode.
constexpr Duration kEpisodeGap = std::chrono::minutes(1);

}  // namespace

void PluginHealth::NoteAnswer(PluginAction action, Duration latency) {
  answers_[static_cast<size_t>(action)].fetch_add(1, std::memory_order_relaxed);
  latency_.Observe(latency);
  fails_ = false;
}

void PluginHealth::NoteUnanswered() {
  unanswered_.fetch_add(1, std::memory_order_relaxed);
  fails_ = true;
}

void PluginHealth::NoteFault(PluginFault fault, std::string_view what) {
  faults_[static_cast<size_t>(fault)].fetch_add(1, std::memory_order_relaxed);
  Episode& episode = episodes_[static_cast<size_t>(fault)];
  const TimePoint now = clock_.Now();
  const bool goes_on = episode.begun && now - episode.last < kEpisodeGap;
  episode.begun = true;
  episode.last = now;
  if (goes_on) {
    ++episode.left_out;
    return;
  }
  const LogLimit::Line line{std::exchange(episode.left_out, 0)};
  spdlog::warn("the {} {}{}", name_, AsText(what), line.Suffix());
}

void PluginHealth::Log(std::string_view text) {
  if (const auto line = lines_.Take(clock_.Now()))
    spdlog::info("the {} says: {}{}", name_, AsText(text), line->Suffix());
}

PluginStats PluginHealth::Stats() const {
  PluginStats stats{
      .unanswered = unanswered_, .starts = starts_, .processes = processes_, .latency = latency_.Snapshot()};
  for (size_t i = 0; i < kPluginActions; ++i) stats.answers[i] = answers_[i];
  for (size_t i = 0; i < kPluginFaults; ++i) stats.faults[i] = faults_[i];
  return stats;
}

}  // namespace weir
