#include "import/export_session.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

namespace weir {

ExportSession::ExportSession(ExportSessionParts parts, HttpExchange& exchange)
    : parts_(std::move(parts)), post_(exchange.poster()), began_(parts_.context.clock.Now()), exchange_(&exchange) {}

ExportSession::~ExportSession() = default;

void ExportSession::Start() {
  spdlog::info("export to {} began", parts_.address);
  SubmitSlice();
}

void ExportSession::OnShutdown() {
  if (!over_) Break("the relay is going down");
}

void ExportSession::OnEnd(std::string_view cause) {
  // The end of a client that was given all, but did not take it, is no answer.
  if (done_ && cause.starts_with("answered")) {
    spdlog::info("export to {} ended: {} events, in {:.1f} s", parts_.address, events_,
                 ToSeconds(parts_.context.clock.Now() - began_));
  } else if (done_ || !over_) {
    spdlog::warn("export to {} broke off, {}: {} events", parts_.address, cause, events_);
  }
  over_ = true;
  exchange_ = nullptr;
  const std::lock_guard lock(mutex_);
  gone_ = true;
  if (!slice_is_out_) Release();
}

void ExportSession::SubmitSlice() {
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    slice_is_out_ = true;
  }
  parts_.pool.Submit(Urgency::kFair, parts_.party, [self = shared_from_this()] { self->RunSlice(); });
}

void ExportSession::RunSlice() {
  Piece piece;
  try {
    piece = NextPiece();
  } catch (const std::exception& e) {
    piece.status = Status::Error(e.what());
  }
  {
    const std::lock_guard lock(mutex_);
    slice_is_out_ = false;
    if (gone_ || piece.done || !piece.status.ok()) Release();
  }
  post_([self = shared_from_this(), piece = std::move(piece)] { self->OnPiece(piece); });
}

ExportSession::Piece ExportSession::NextPiece() {
  Piece piece;
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return piece;
  }
  if (exporter_ == nullptr) exporter_ = Exporter::Make(parts_.context.store, std::move(parts_.plan));
  const Result<Progress> progress = exporter_->Next({}, [&](EventView event) {
    piece.text.append(event.json()).push_back('\n');
    ++piece.events;
  });
  if (!progress.ok()) {
    piece.status = progress.status();
  } else {
    piece.done = progress.value() == Progress::kDone;
  }
  parts_.counters.export_events.fetch_add(piece.events, std::memory_order_relaxed);
  return piece;
}

void ExportSession::OnPiece(const Piece& piece) {
  if (over_) return;
  if (!piece.status.ok()) return Break("the store cannot be read: " + piece.status.message());
  events_ += piece.events;
  if (!std::exchange(begun_, true)) {
    exchange_->Begin({.content_type = kJsonLines, .body = piece.text, .headers = {}});
  } else if (!piece.text.empty()) {
    exchange_->Write(piece.text);
  }
  if (piece.done) {
    over_ = done_ = true;
    return exchange_->End();
  }
  SubmitWhenTaken();
}

// What a slice brings may be written then, however little may wait for a client.
void ExportSession::SubmitWhenTaken() {
  if (exchange_->pending_bytes() <= HttpExchange::kAlwaysTaken) return SubmitSlice();
  exchange_->WhenPendingBelow(HttpExchange::kAlwaysTaken, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->over_) self->SubmitSlice();
  });
}

void ExportSession::Break(const std::string& cause) {
  over_ = true;
  spdlog::warn("export to {} broke off, {}: {} events", parts_.address, cause, events_);
  if (begun_) return exchange_->Abort(cause);
  exchange_->Begin({.status = 503, .body = cause + "\n", .headers = {}});
  exchange_->End();
}

// With the lock, when no slice is out.
void ExportSession::Release() {
  if (std::exchange(released_, true)) return;
  exporter_.reset();
  parts_.slot.reset();
}

}  // namespace weir
