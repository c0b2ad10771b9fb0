#include "relay/observe/trace/span_exporter.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "relay/observe/trace/otlp.h"

namespace weir {
namespace {

constexpr uint64_t kMostAnswerBytes = 64 << 10;

bool IsPassing(const HttpAnswer& answer) {
  constexpr std::array kPassing = {429, 502, 503, 504};
  return !answer.ok() || std::ranges::find(kPassing, answer.status) != kPassing.end();
}

// Returns the time in the field Retry-After, if the field is a number of seconds; otherwise, or if it is missing, 0.
Duration RetryAfterOf(const HttpAnswer& answer) {
  const auto seconds = ParseUnsigned(answer.Header("retry-after"), {.min = 0, .max = 1e9});
  if (!seconds.ok()) return {};
  return std::min<Duration>(std::chrono::seconds(seconds.value()), SpanExporter::kLongestRetryAfter);
}

// Returns a random time from half of the pause to all of it, so that many programs that lost the same collector do not
// all send again at the same time.
Duration Jittered(Duration pause) {
  return pause / 2 + Duration(RandomBits() % static_cast<uint64_t>(pause.count() / 2 + 1));
}

}  // namespace

SpanExporter::SpanExporter(std::shared_ptr<Tracer> tracer, const TraceTarget& target, Send send, const Clock& clock,
                           const WallClock& wall_clock)
    : tracer_(std::move(tracer)),
      origin_(target.url.Origin()),
      resource_(target.resource),
      send_(std::move(send)),
      clock_(clock),
      wall_clock_(wall_clock),
      call_{.method = "POST",
            .path = "/v1/traces",
            .headers = {{"Content-Type", "application/json"}},
            .max_answer_bytes = kMostAnswerBytes,
            .ca_file = target.ca_file},
      due_(clock.Now()) {
  call_.headers.insert(call_.headers.end(), target.headers.begin(), target.headers.end());
}

TimePoint SpanExporter::Step(const std::stop_token& stop) {
  if (clock_.Now() < due_) return due_;
  due_ = clock_.Now() + kEvery;
  TakeBatch();
  if (spans_ > 0) SendBatch(kCallTimeout, stop);
  return due_;
}

void SpanExporter::Flush(std::chrono::milliseconds longest, const std::stop_token& stop) {
  bool was_begun = true;
  while (was_begun) {
    was_begun = spans_ > 0;
    TakeBatch();
    if (spans_ == 0) return;
    tries_ = kTries - 1;
    SendBatch(longest, stop);
    if (!problem_.empty()) return;
  }
}

void SpanExporter::TakeBatch() {
  if (spans_ > 0) return;
  const std::vector<SpanData> ended = tracer_->TakeEnded();
  if (ended.empty()) return;
  spans_ = ended.size();
  tries_ = 0;
  call_.body = WriteOtlp(ended, resource_, wall_clock_.Now() - clock_.Now().time_since_epoch());
}

void SpanExporter::SendBatch(std::chrono::milliseconds timeout, const std::stop_token& stop) {
  call_.timeout = timeout;
  call_.stop = stop;
  const HttpAnswer answer = send_(call_);
  due_ = clock_.Now() + kEvery;
  answer.ok() && answer.status / 100 == 2 ? Taken(answer) : NotTaken(answer);
}

void SpanExporter::Taken(const HttpAnswer& answer) {
  const PartialSuccess partial = ReadPartialSuccess(answer.body);
  const uint64_t rejected = std::min(partial.rejected, spans_);
  rejected_ += rejected;
  spans_ -= rejected;
  EndBatch(&sent_);
  pause_ = kEvery;
  SetProblem(rejected == 0 ? "" : "it rejects spans: " + Printable(partial.message));
}

void SpanExporter::NotTaken(const HttpAnswer& answer) {
  const bool again = IsPassing(answer);
  if (again) {
    due_ = clock_.Now() + std::max({kEvery, RetryAfterOf(answer), Jittered(pause_)});
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  if (++tries_ >= kTries || !again) EndBatch(&failed_);
  SetProblem(answer.ok() ? "it answers " + std::to_string(answer.status) : answer.problem);
}

void SpanExporter::EndBatch(std::atomic<uint64_t>* as) {
  *as += std::exchange(spans_, 0);
  call_.body = {};
}

// Logs the first of several problems in a row, and later that there is none any more.
void SpanExporter::SetProblem(const std::string& problem) {
  if (problem_.empty() != problem.empty()) {
    if (problem.empty()) {
      spdlog::info("traces: {} takes them again", origin_);
    } else {
      spdlog::warn("traces: {} does not take them all: {}", origin_, problem);
    }
  }
  problem_ = problem;
}

ExportStats SpanExporter::Stats() const { return {.sent = sent_, .rejected = rejected_, .failed = failed_}; }

}  // namespace weir
