#include "relay/watch/live/live_stream.h"

#include <string>

namespace weir {

// Tells the browser to wait a second before it connects again.
void LiveStream::Begin() {
  exchange_->Begin({.content_type = "text/event-stream",
                    .body = "retry: 1000\n\n",
                    .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
}

void LiveStream::OnEvent(const SharedText& event) {
  post_([weak = weak_from_this(), event] {
    if (const auto self = weak.lock()) self->Write(*event);
  });
}

void LiveStream::Write(const std::string& event) {
  if (exchange_ == nullptr) return;
  if (exchange_->pending_bytes() <= HttpExchange::kAlwaysTaken) {
    left_out_ = 0;
    return exchange_->Write(event);
  }
  if (++left_out_ == kMostLeftOut) exchange_->Abort("a listener at /live did not read");
}

void LiveStream::OnShutdown() {
  if (exchange_ != nullptr) exchange_->End();
}

}  // namespace weir
