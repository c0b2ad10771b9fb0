#include "relay/server/session.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <limits>
#include <utility>

#include "relay/server/io_thread.h"

namespace weir {
namespace {

namespace asio = boost::asio;

// For the peer to take the last words and to close.
constexpr std::chrono::seconds kLinger{2};

std::string Lost(const boost::system::error_code& error) {
  return error == asio::error::eof ? "the client hung up" : "connection lost: " + error.message();
}

}  // namespace

Session::Session(IoThread& thread, BufferedStream::Socket socket, const Accepted& accepted)
    : thread_(thread),
      stream_(std::move(socket), thread.buffers()),
      peer_(accepted.peer),
      last_heard_(thread.Now()),
      last_sent_(last_heard_),
      refused_(accepted.refusal != Refusal::kNone) {
  if (accepted.has_slot) slot_ = peer_;
}

Session::~Session() {
  if (slot_) thread_.core().slots.Return(*slot_);
  (refused_ ? thread_.core().refusing : thread_.core().served).fetch_sub(1, std::memory_order_relaxed);
}

void Session::Start() {
  Guard([this] {
    if (next_stage_) stage_ = std::move(next_stage_);
    Flush();
    ReadOn();
  });
}

void Session::SetStage(std::unique_ptr<Stage> stage) { next_stage_ = std::move(stage); }

bool Session::TakeSlot(const IpAddress& client) {
  if (!thread_.core().slots.Take(client)) return false;
  slot_ = client;
  return true;
}

void Session::ResumeReading() {
  if (pauses_ > 0) --pauses_;
  if (pauses_ > 0 || ended_) return;
  last_heard_ = thread_.Now();  // the silence was ours
  if (!processing_) ProcessSoon();
}

void Session::ReadAlways() {
  reads_always_ = true;
  if (pauses_ > 0 && !processing_) ProcessSoon();
}

void Session::ProcessSoon(std::shared_ptr<Session> session) {
  asio::io_context& context = session->thread_.context();
  asio::post(context, [self = std::move(session)] { self->Guard([&] { self->Process(); }); });
}

void Session::FlushSoon() {
  if (processing_ || flush_scheduled_ || ended_) return;
  flush_scheduled_ = true;
  thread_.FlushSoon(shared_from_this());
}

void Session::OnFlushTurn() {
  flush_scheduled_ = false;
  Guard([this] { Flush(); });
}

void Session::Flush() {
  if (ended_ || flushing_ || waiting_writable_) return;
  flushing_ = true;
  for (;;) {
    if (stream_.output_bytes() == 0 && stage_ && !ending_) stage_->Produce();
    if (stream_.output_bytes() == 0) break;
    boost::system::error_code error;
    const size_t sent = stream_.Send(error);
    thread_.counters().sent_bytes.Add(sent);
    if (sent > 0) last_sent_ = thread_.Now();
    if (error) {
      End(Lost(error));
      break;
    }
    if (stream_.output_bytes() > 0) {
      WaitWritable();
      break;
    }
  }
  flushing_ = false;
  NotePending();
  if (stage_ && !ended()) stage_->OnSent();
  if (ending_ && stream_.output_bytes() == 0) OnAllSent();
}

void Session::NotePending() {
  const size_t pending = pending_bytes();
  if (pending >= noted_pending_) {
    thread_.counters().pending_bytes.Add(pending - noted_pending_);
  } else {
    thread_.counters().pending_bytes.Subtract(noted_pending_ - pending);
  }
  noted_pending_ = pending;
}

void Session::WaitReadable() {
  read_scheduled_ = true;
  stream_.socket().async_wait(asio::socket_base::wait_read, [self = shared_from_this()](boost::system::error_code) {
    self->read_scheduled_ = false;
    self->Guard([&] { self->OnReadable(); });
  });
}

void Session::WaitWritable() {
  waiting_writable_ = true;
  untaken_ = std::numeric_limits<int>::max();
  stream_.socket().async_wait(asio::socket_base::wait_write, [self = shared_from_this()](boost::system::error_code) {
    self->waiting_writable_ = false;
    self->Guard([&] { self->Flush(); });
  });
}

void Session::OnReadable() {
  if (ended_ || (paused() && !ending_)) return;
  if (ending_) stream_.Consume(stream_.piece().size());
  boost::system::error_code error;
  const size_t bytes = stream_.Fill(error);
  thread_.counters().received_bytes.Add(bytes);
  piece_was_full_ = bytes == kPieceBytes;
  if (ending_) {
    stream_.Consume(bytes);
    input_ended_ = error.failed();
    // One that has only stopped to send may yet take what we have for it.
    if (error && (error != asio::error::eof || half_closed_)) return End(cause_);
    return ReadOn();
  }
  if (bytes > 0) last_heard_ = thread_.Now();
  if (error) {
    input_ended_ = true;
    stream_.EndInput(error);
  }
  if (bytes > 0 || error) {
    Process();
  } else {
    ReadOn();
  }
}

void Session::Process() {
  if (ended() || !stage_ || processing_) return;
  processing_ = true;
  stage_->OnInput();
  while (next_stage_) {
    stage_ = std::move(next_stage_);
    stage_->OnInput();
  }
  processing_ = false;
  if (ended_) return;
  Flush();
  ReadOn();
}

void Session::ReadOn() {
  if (ended_ || read_scheduled_ || input_ended_) return;
  // What a pause left in the piece is processed when it ends.
  if (!ending_ && (paused() || !stream_.piece().empty())) return;
  if (!piece_was_full_) return WaitReadable();
  // One piece a turn: the other connections of this thread come between.
  read_scheduled_ = true;
  asio::post(thread_.context(), [self = shared_from_this()] {
    self->read_scheduled_ = false;
    self->Guard([&] { self->OnReadable(); });
  });
}

bool Session::OverShare() const {
  const size_t pending = pending_bytes();
  if (pending <= kLeastShare) return false;
  const ServerCore& core = thread_.core();
  const uint64_t most = core.settings.max_pending_total_mb << 20;
  if (core.Pending() <= most) return false;
  return pending > most / std::max<uint64_t>(core.served.load(std::memory_order_relaxed), 1);
}

void Session::OnFault(std::string_view what) {
  thread_.LogFault(peer_.to_string(), what);
  End("a fault in the server");
}

void Session::End(std::string cause) {
  if (ended_) return;
  ended_ = true;
  if (!ending_) cause_ = std::move(cause);
  asio::post(thread_.context(), [self = shared_from_this()] { self->Finish(); });
}

void Session::EndAfterOutput(std::string cause, Then then) {
  if (ended()) return;
  ending_ = true;
  lingers_ = then == Then::kLinger;
  cause_ = std::move(cause);
  // The piece stays until the stage, which may be in the midst of it, has returned.
  asio::post(thread_.context(), [self = shared_from_this()] {
    self->stream_.Consume(self->stream_.piece().size());
    self->EndStage();
    self->Guard([&] {
      self->Flush();
      self->ReadOn();
    });
  });
}

void Session::OnAllSent() {
  if (half_closed_) return;
  half_closed_ = true;
  if (!lingers_ || input_ended_) return End(cause_);
  linger_until_ = thread_.Now() + kLinger;
  shutdown(stream_.socket().native_handle(), SHUT_WR);
}

void Session::EndStage() {
  stream_.DropRead();
  const std::unique_ptr<Stage> stage = std::move(stage_);
  if (stage) Guard([&] { stage->OnEnd(cause_); });
}

void Session::Finish() {
  EndStage();
  thread_.counters().pending_bytes.Subtract(std::exchange(noted_pending_, 0));
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
  thread_.Remove(*this);
}

void Session::OnTick(SteadyTime now) {
  if (ended_) return;
  if (waiting_writable_) NoteTaken(now);
  if (ending_) {
    if (now > (half_closed_ ? linger_until_ : last_sent_ + thread_.core().settings.handshake_timeout)) End(cause_);
    return;
  }
  if (stage_) Guard([&] { stage_->OnTick(now); });
}

// The system calls a socket writable when a third of its buffer is free, which may take a slow reader minutes.
void Session::NoteTaken(SteadyTime now) {
  int untaken = 0;
  if (ioctl(stream_.socket().native_handle(), SIOCOUTQ, &untaken) != 0) return;
  if (untaken < untaken_) last_sent_ = now;
  untaken_ = untaken;
}

void Session::OnShutdown() {
  if (!ended() && stage_) Guard([this] { stage_->OnShutdown(); });
}

}  // namespace weir
