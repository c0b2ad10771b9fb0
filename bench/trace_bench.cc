// Measures the cost of traces: without a tracer, for a request that is not sampled, and for one that is.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "relay/observe/trace/otlp.h"
#include "relay/observe/trace/tracer.h"

namespace weir {
namespace {

// Makes the spans of an EVENT.
void Trace(Tracer* tracer) {
  Span span = BeginSpan(tracer, "EVENT", SpanKind::kServer, TimePoint());
  Span stage;
  if (span) {
    span.Set("weir.bytes", 680);
    span.Set("weir.kind", 1);
    stage = span.Child("write gate");
    stage.Set("weir.cost", 900);
    stage = span.Child("commit");
  }
  stage.End();
  if (span) {
    span.Set("weir.outcome", "ok");
    span.End();
  }
}

Tracer* nobody = nullptr;

void EventOff(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(nobody);
    Trace(nobody);
  }
}
BENCHMARK(EventOff);

// The argument N means that one request in N is sampled.
void EventSampled(benchmark::State& state) {
  const auto tracer = std::make_shared<Tracer>(1.0 / static_cast<double>(state.range(0)));
  int64_t until_taken = 1000 * state.range(0);
  for (auto _ : state) {
    Trace(tracer.get());
    if (--until_taken == 0) {
      until_taken = 1000 * state.range(0);
      state.PauseTiming();
      (void)tracer->TakeEnded();
      state.ResumeTiming();
    }
  }
  state.counters["dropped"] = static_cast<double>(tracer->dropped());
}
BENCHMARK(EventSampled)->Arg(1)->Arg(100);

void DecisionOfACallersTrace(benchmark::State& state) {
  const auto tracer = std::make_shared<Tracer>(0.01);
  const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  for (auto _ : state) benchmark::DoNotOptimize(tracer->BeginServed("quota decide", parent));
}
BENCHMARK(DecisionOfACallersTrace);

// Measures the work of the thread that sends.
void WriteSpan(benchmark::State& state) {
  const auto tracer = std::make_shared<Tracer>(1);
  for (int n = 0; n < 300; ++n) Trace(tracer.get());
  const std::vector<SpanData> spans = tracer->TakeEnded();
  size_t bytes = 0;
  for (auto _ : state) bytes = WriteOtlp(spans, {{"service.name", "weir"}}, WallTime()).size();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * spans.size()));
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(spans.size());
}
BENCHMARK(WriteSpan);

}  // namespace
}  // namespace weir
