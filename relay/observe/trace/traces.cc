#include "relay/observe/trace/traces.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace weir {

Result<std::unique_ptr<Traces>> Traces::Open(const TraceSettings& settings) {
  if (settings.endpoint.empty()) return std::unique_ptr<Traces>();
  Result<TraceTarget> target = ReadTraceTarget(settings);
  if (!target.ok()) return target.status();
  const ServerUrl url = target.value().url;
  spdlog::info("traces: {} of all requests to {}{}/v1/traces", settings.ratio, url.Origin(), url.path);
  if (!target.value().headers.empty() && !url.tls && !url.is_loopback())
    spdlog::warn(
        "traces: WEIR_TRACE_HEADERS crosses the network in the clear; use https where there is a secret in it");
  return std::make_unique<Traces>(settings.ratio, target.value(),
                                  [url](const HttpCall& call) { return CallHttp(url, call); });
}

Traces::Traces(double ratio, const TraceTarget& target, SpanExporter::Send send)
    : tracer_(std::make_shared<Tracer>(ratio)),
      exporter_(tracer_, target, std::move(send), Clock::System(), WallClock::System()),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

Traces::~Traces() {
  thread_.request_stop();
  {
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kLongestFlush, [this]() WEIR_REQUIRES(mutex_) { return flushed_; });
  }
  hurry_.request_stop();
  thread_.join();
  tracer_->Close();
}

void Traces::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const TimePoint due = exporter_.Step(hurry_.get_token());
    MutexLock lock(mutex_);
    changed_.wait_until(lock, stop, due, [] { return false; });
  }
  if (!hurry_.stop_requested()) exporter_.Flush(kLongestFlush, hurry_.get_token());
  const MutexLock lock(mutex_);
  flushed_ = true;
  changed_.notify_all();
}

TraceStats Traces::Stats() const {
  return {.exported = exporter_.Stats(), .dropped = tracer_->dropped(), .waiting = tracer_->waiting()};
}

}  // namespace weir
