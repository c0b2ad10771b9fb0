#include "relay/scan.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "relay/nostr/messages.h"
#include "relay/policy.h"

namespace weir {
namespace {

constexpr size_t kSmallAnswer = 8 << 10;

// A text that counts as the program's own memory from when it is sealed until nobody needs it.
std::shared_ptr<const std::string> Seal(std::string text, const std::function<void(int64_t)>& count) {
  const auto bytes = static_cast<int64_t>(text.capacity());
  count(bytes);
  return {new const std::string(std::move(text)), [bytes, count](const std::string* sealed) {
            delete sealed;
            count(-bytes);
          }};
}

}  // namespace

Scan::Scan(RelayContext& context, ScanPlan plan, boost::asio::any_io_executor executor, OnReport on_report)
    : context_(context), plan_(std::move(plan)), executor_(std::move(executor)), on_report_(std::move(on_report)) {}

void Scan::Start() {
  report_is_due_ = true;
  Enter();
}

void Scan::Enter() {
  admission_ = context_.limiter.Admit(Operation::kRead, plan_.cost, plan_.party);
  if (!admission_->waiting()) return AfterWait();
  at_gate_ = true;
  // Under the gate's lock, so the scan, which owns the admission, moves on.
  admission_->OnSettled([self = shared_from_this()]() mutable {
    const boost::asio::any_io_executor executor = self->executor_;
    boost::asio::post(executor, [self = std::move(self)] { self->AfterWait(); });
  });
}

void Scan::AfterWait() {
  const Admission::State state = admission_->Poll();
  if (std::exchange(at_gate_, false)) context_.metrics.ReadGateWait(admission_->waited());
  if (state == Admission::State::kAdmitted) return SubmitSlice();
  ScanReport report;
  report.refusal = RateLimited(*admission_) + ", or ask for less";
  Report(std::move(report));
}

void Scan::Next() {
  report_is_due_ = true;
  if (!admission_) return Enter();
  SubmitSlice();
}

void Scan::Pause() { admission_.reset(); }

bool Scan::Cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  if (at_gate_ && admission_->Cancel()) report_is_due_ = at_gate_ = false;
  return report_is_due_;
}

void Scan::SubmitSlice() {
  const Urgency urgency = query_ == nullptr ? Urgency::kUrgent : Urgency::kLong;
  context_.pool.Submit(urgency, plan_.party, [self = shared_from_this()] { self->RunSlice(); });
}

void Scan::RunSlice() {
  ScanReport report;
  if (!cancelled_.load(std::memory_order_relaxed)) Walk(&report);
  // Given back here and now: the report may have to wait for its thread.
  if (report.done || !report.refusal.empty() || cancelled_.load(std::memory_order_relaxed)) {
    query_.reset();
    admission_.reset();
  }
  Report(std::move(report));
}

void Scan::Walk(ScanReport* report) {
  if (query_ == nullptr) query_ = context_.store.Find(std::move(plan_.filters), plan_.options);
  const bool compose = !plan_.message_head.empty();
  std::string text;
  if (compose) text.reserve(kSmallAnswer);
  const Result<Progress> progress = query_->Next({}, [&](EventView event) {
    ++found_;
    if (!compose) return;
    text.append(plan_.message_head).append(event.json()).append(kEventMessageTail);
    report->ends.push_back(static_cast<uint32_t>(text.size()));
  });
  if (!progress.ok()) {
    report->refusal = "error: the store cannot be read: " + progress.status().message();
    return;
  }
  if (!report->ends.empty()) report->text = Seal(std::move(text), context_.count_own_bytes);
  report->found = found_;
  report->done = progress.value() == Progress::kDone;
  report->last_serial = query_->last_serial();
  report->complete = report->done && query_->complete();
  if (!report->done && query_->visits() > plan_.max_visits) {
    report->refusal = "restricted: this would look at more than " + std::to_string(plan_.max_visits) +
                      " events; narrow the filter by ids, authors, tags or time";
  }
}

void Scan::Report(ScanReport report) {
  boost::asio::post(executor_, [self = shared_from_this(), report = std::move(report)]() mutable {
    self->report_is_due_ = false;
    self->on_report_(std::move(report));
  });
}

}  // namespace weir
