#include "import/serve/export_session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "relay/net/http_error.h"
#include "relay/store/moment_text.h"

namespace weir {
namespace {

constexpr Cost kSliceCost{128 << 10};  // so large that the scan gate counts the slice as a scan, not as a cheap read
constexpr Duration kRetryAfter = std::chrono::seconds(1);
// A proxy may hide a broken connection and pass on a part of the answer as if it were whole. The count of events in
// this trailer reveals that.
constexpr const char* kEventsTrailer = "Weir-Exported-Events";
constexpr const char* kSerialTrailer = "Weir-Exported-Serial";

}  // namespace

ExportSession::ExportSession(ExportSessionParts parts, HttpExchange& exchange)
    : parts_(std::move(parts)), post_(exchange.poster()), began_(parts_.context.clock.Now()), exchange_(&exchange) {}

ExportSession::~ExportSession() { CountHeld(0); }

void ExportSession::Start() {
  spdlog::info("export to {} began", parts_.address);
  GoOn();
}

// Asks the limiter for permission for the next slice, so that exports take turns.
void ExportSession::GoOn() {
  admission_.reset();
  admission_.emplace(parts_.context.limiter.Admit(Operation::kRead, kSliceCost, parts_.party));
  if (!admission_->waiting()) return AfterGate();
  if (exporter_) {
    exporter_->Suspend();
    CountHeld(exporter_->held_bytes());
  }
  // The limiter calls this callback while it holds a lock, so the callback only posts a task.
  admission_->OnSettled([post = post_, weak = weak_from_this()] {
    post([weak] {
      if (const auto self = weak.lock()) self->AfterGate();
    });
  });
}

void ExportSession::AfterGate() {
  if (over_) return;
  if (admission_->Poll() == Admission::State::kAdmitted) return SubmitSlice();
  Wait();
  retry_.emplace(exchange_->executor(), kRetryAfter);
  retry_->async_wait([post = post_, weak = weak_from_this()](const boost::system::error_code& error) {
    if (error) return;
    post([weak] {
      const auto self = weak.lock();
      if (self && !self->over_) self->GoOn();
    });
  });
}

// Releases the snapshot and the limiter's permission until the session continues. REQUIRES: no slice is running.
void ExportSession::Wait() {
  admission_.reset();
  if (!exporter_) return;
  exporter_->Suspend();
  CountHeld(exporter_->held_bytes());
}

// Reports the memory that the session holds. The bytes count as waiting (OwnUse::kWaiting), because they belong to
// later slices, which have no permission yet.
void ExportSession::CountHeld(uint64_t bytes) {
  const auto more = static_cast<int64_t>(bytes) - static_cast<int64_t>(counted_bytes_);
  parts_.context.count_own_bytes(more, OwnUse::kWaiting);
  counted_bytes_ = bytes;
}

void ExportSession::OnShutdown() {
  if (!over_) Break("the relay is going down");
}

void ExportSession::OnEnd(std::string_view cause) {
  // If the client did not take the whole answer, the export is not complete, although the session wrote all of it.
  if (done_ && cause.starts_with("answered")) {
    spdlog::info("export to {} ended: {} events, in {:.1f} s", parts_.address, events(),
                 ToSeconds(parts_.context.clock.Now() - began_));
  } else if (done_ || !over_) {
    spdlog::warn("export to {} broke off, {}: {} events", parts_.address, cause, events());
  }
  over_ = true;
  retry_.reset();
  exchange_ = nullptr;
  const MutexLock lock(mutex_);
  gone_ = true;
  if (!slice_is_out_) Release();
}

void ExportSession::SubmitSlice() {
  {
    const MutexLock lock(mutex_);
    if (gone_) return;
    slice_is_out_ = true;
  }
  parts_.pool.Submit(Urgency::kFair, parts_.party, [self = shared_from_this()] {
    self->RunSlice();
    return kTurnWork;
  });
}

void ExportSession::RunSlice() {
  Piece piece;
  try {
    piece = NextPiece();
  } catch (const std::exception& e) {
    piece.status = Status::Error(e.what());
  }
  {
    const MutexLock lock(mutex_);
    slice_is_out_ = false;
    if (exporter_) CountHeld(exporter_->held_bytes());
    if (gone_ || piece.done || !piece.status.ok() || !piece.wrong.ok()) Release();
  }
  post_([self = shared_from_this(), piece = std::move(piece)] { self->OnPiece(piece); });
}

ExportSession::Piece ExportSession::NextPiece() {
  Piece piece;
  {
    const MutexLock lock(mutex_);
    if (gone_) return piece;
  }
  if (exporter_ == nullptr) {
    piece.wrong = CheckAfter(parts_.context.store, parts_.plan.after);
    if (!piece.wrong.ok()) return piece;
    exporter_ = Exporter::Make(parts_.context.store, std::move(parts_.plan));
  }
  const Result<Progress> progress = exporter_->Next({}, [&](EventView event) {
    piece.text.append(event.json()).push_back('\n');
    ++piece.events;
  });
  if (!progress.ok()) {
    piece.status = progress.status();
  } else {
    piece.done = progress.value() == Progress::kDone;
    const Moment reached = exporter_->reached();
    if (piece.done && !reached.last().empty()) piece.reached = ToText(reached);
  }
  parts_.counters.export_events.fetch_add(piece.events, std::memory_order_relaxed);
  return piece;
}

void ExportSession::OnPiece(const Piece& piece) {
  if (over_) return;
  if (!piece.wrong.ok()) return Break("since_serial=" + piece.wrong.message(), 400);
  if (!piece.status.ok()) return Break("the store cannot be read: " + piece.status.message());
  events_ += piece.events;
  if (!std::exchange(begun_, true)) {
    exchange_->Begin({.content_type = kJsonLines,
                      .body = piece.text,
                      .headers = {{"Trailer", std::string(kEventsTrailer) + ", " + kSerialTrailer}}});
  } else if (!piece.text.empty()) {
    exchange_->Write(piece.text);
  }
  if (piece.done) {
    over_ = done_ = true;
    HttpFields trailers{{kEventsTrailer, std::to_string(events())}};
    if (!piece.reached.empty()) trailers.emplace_back(kSerialTrailer, piece.reached);
    return exchange_->EndWith(trailers);
  }
  // If the export has to wait, it loses what it has read before its next event (Exporter::Suspend). So it keeps its
  // permission until an event comes out, longer each time; else exports that take turns could all begin again for ever.
  if (piece.events > 0) {
    patience_ = kFirstPatience;
  } else if (++empty_slices_ < patience_) {
    return SubmitSlice();
  } else {
    patience_ = std::min(2 * patience_, kMostPatience);
  }
  empty_slices_ = 0;
  SubmitWhenTaken();
}

// Continues when so few bytes wait that Write takes a whole slice, even if a setting lets fewer bytes wait for a
// client.
void ExportSession::SubmitWhenTaken() {
  if (exchange_->pending_bytes() <= HttpExchange::kAlwaysTaken) return GoOn();
  Wait();
  exchange_->WhenPendingBelow(HttpExchange::kAlwaysTaken, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->over_) self->GoOn();
  });
}

void ExportSession::Break(const std::string& cause, int http_status) {
  over_ = true;
  spdlog::warn("export to {} broke off, {}: {} events", parts_.address, cause, events());
  if (begun_) return exchange_->Abort(cause);
  exchange_->Begin(PlainErrorAsJson({.status = http_status, .body = cause + "\n", .headers = {}}));
  exchange_->End();
}

// REQUIRES: no slice is running.
void ExportSession::Release() {
  if (std::exchange(released_, true)) return;
  exporter_.reset();
  admission_.reset();
  CountHeld(0);
  parts_.slot.reset();
}

}  // namespace weir
