#include "relay/net/session.h"

#include <linux/sockios.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <limits>
#include <utility>

#include "relay/account/turn_meter.h"
#include "relay/net/http.h"
#include "relay/net/http_bounds.h"
#include "relay/net/io_thread.h"
#include "relay/net/last_answer.h"
#include "relay/net/served_certificate.h"

namespace weir {
namespace {

namespace asio = boost::asio;

// The work of reading and sending a small message, and of only sending one; measured with one message in flight.
constexpr Work kReadAndSendWork = 6'000;
constexpr Work kSendWork = 3'000;
constexpr uint64_t kSentBytesPerWork = 2;
// The bytes that are read at once for a client whose address has no room. They are too few to be counted if they are
// kept.
constexpr size_t kLittle = 4096;

// The time after which a peer that takes nothing is dropped during a shutdown, because clients wait for the successor.
constexpr std::chrono::seconds kPatienceAtShutdown{1};

std::string Lost(const boost::system::error_code& error, const TlsStream* tls) {
  if (error == asio::error::eof) return "the client hung up";
  const char* const fault = tls != nullptr ? tls->fault() : nullptr;
  return "connection lost: " + (fault != nullptr ? "TLS: " + std::string(fault) : error.message());
}

HttpResponse SpeakTls() { return {.status = 400, .body = "this port speaks TLS: ask by https:// or wss://\n"}; }

}  // namespace

Session::Session(IoThread& thread, BufferedStream::Socket socket, Accepted accepted)
    : thread_(thread),
      stream_(std::move(socket), thread.buffers()),
      peer_(accepted.peer),
      place_(std::move(accepted.place)),
      refused_(std::move(accepted.refused)),
      refusal_(accepted.refusal),
      last_heard_(thread.Now()),
      last_sent_(last_heard_) {
  // A refused connection is answered in HTTP/1.1, so it is not offered HTTP/2.
  if (const ServedCertificate* served = thread.core().certificate.get())
    stream_.BeginTls(served->Now(), place_ != nullptr);
}

Session::~Session() {
  if (account_) GiveBackAll();
}

// Returns a function that posts a call of `what`. Any thread may call it.
std::function<void()> Session::Soon(void (Session::*what)()) {
  return [weak = weak_from_this(), &context = thread_.context(), what] {
    asio::post(context, [weak, what] {
      if (const auto self = weak.lock()) (self.get()->*what)();
    });
  };
}

void Session::OpenAccount(const IpAddress& client) {
  const uint64_t group = GroupOf(client);
  std::shared_ptr<Account> account = thread_.core().ledger->Open(group, Soon(&Session::OnGiveUp));
  if (place_ != nullptr) {
    place_->Heard(last_heard_);
    place_->OnGiveWay(Soon(&Session::OnGiveWay));
  }
  // No memory is needed from here on.
  if (account_) {
    account_->GiveBack(noted_pending_, Memory::kShared);
    account_->GiveBack(noted_held_, Memory::kWaiting);
  }
  account->Take(noted_pending_, Memory::kShared);
  account->Take(noted_held_, Memory::kWaiting);
  account_ = std::move(account);
  group_ = group;
}

void Session::Start() {
  Guard([this] {
    if (next_stage_) stage_ = std::move(next_stage_);
    Flush();
    ReadOn();
  });
}

void Session::SetStage(std::unique_ptr<Stage> stage) { next_stage_ = std::move(stage); }

Refusal Session::Settle(const IpAddress& client) {
  if (place_->is_of_here()) return refusal_;
  if (place_->has_name()) return Refusal::kNone;
  if (const Refusal refusal = thread_.core().places.Name(*place_, client); refusal != Refusal::kNone) return refusal;
  OpenAccount(client);
  return Refusal::kNone;
}

void Session::GiveBackAll() {
  account_->GiveBack(std::exchange(noted_pending_, 0), Memory::kShared);
  account_->GiveBack(std::exchange(noted_held_, 0), Memory::kWaiting);
}

void Session::TurnSoon() {
  if (in_line_) return;
  thread_.TurnSoon(shared_from_this(), expected_);  // may throw if memory runs out
  in_line_ = true;
}

Work Session::OnTurn() {
  in_line_ = false;
  if (ended_) return 0;
  // Work that was done outside of turns is charged with this one, but leaves it its full length.
  const Work before = std::exchange(spent_, kReadAndSendWork);
  const TurnMeter meter(spent_);
  const bool flush = std::exchange(flush_due_, false);
  Guard([&] {
    if (std::exchange(process_due_, false)) {
      Process();
    } else if (std::exchange(readable_, false)) {
      read_scheduled_ = false;
      OnReadable();
    }
    if (flush) Flush();
    NoteHeld(stream_.piece().empty() ? 0 : kPieceBytes);
  });
  const Work work = before + std::exchange(spent_, 0);
  expected_ = std::min(std::max(work, expected_ / 2), kMostATurn);
  if (!ended_ && (process_due_ || readable_ || flush_due_)) Guard([this] { TurnSoon(); });
  return work;
}

void Session::ResumeReading() {
  if (pauses_ > 0) --pauses_;
  if (pauses_ > 0 || ended_) return;
  last_heard_ = thread_.Now();  // the pause does not count as silence of the client
  if (!processing_) ProcessSoon();
}

void Session::ReadAlways() {
  reads_always_ = true;
  if ((pauses_ > 0 || lacks_room_since_) && !processing_) ProcessSoon();
}

void Session::ProcessSoon() {
  process_due_ = true;
  TurnSoon();
}

void Session::ProcessSoon(std::shared_ptr<Session> session) {
  asio::io_context& context = session->thread_.context();
  asio::post(context, [self = std::move(session)] { self->ProcessSoon(); });
}

void Session::FlushSoon() {
  if (processing_ || ended_) return;
  flush_due_ = true;
  TurnSoon();
}

void Session::FlushUpTo(Work most) {
  if (ended_ || flushing_) return;
  if (waiting_writable_) return NotePending();
  flushing_ = true;
  Work spent = 0;
  for (;;) {
    if (stream_.output_bytes() == 0 && stage_ && !ending_) spent += stage_->Produce();
    if (stream_.output_bytes() == 0 && ending_) stream_.EndOutput();
    if (stream_.output_bytes() == 0) break;
    if (spent >= most) {
      flush_due_ = true;
      TurnSoon();
      break;
    }
    if (!stream_.may_send()) break;
    boost::system::error_code error;
    const size_t sent = stream_.Send(error);
    if (TlsStream* tls = stream_.tls()) spent += tls->TakeWork();
    thread_.counters().sent_bytes.Add(sent);
    if (sent > 0) last_sent_ = thread_.Now();
    if (error) {
      End(Lost(error, stream_.tls()));
      break;
    }
    if (stream_.blocked()) {
      WaitWritable();
      break;
    }
    spent += kSendWork + sent / kSentBytesPerWork;
  }
  flushing_ = false;
  Charge(spent);
  NotePending();
  if (stage_ && !ended()) stage_->OnSent();
  if (ending_ && stream_.output_bytes() == 0) stream_.EndOutput();
  if (ending_ && stream_.output_bytes() == 0) OnAllSent();
}

void Session::NotePending() {
  const size_t pending = pending_bytes();
  if (pending >= noted_pending_) {
    thread_.counters().pending_bytes.Add(pending - noted_pending_);
    account_->Take(pending - noted_pending_, Memory::kShared);
  } else {
    thread_.counters().pending_bytes.Subtract(noted_pending_ - pending);
    account_->GiveBack(noted_pending_ - pending, Memory::kShared);
  }
  noted_pending_ = pending;
}

// Counts the input that is kept from turn to turn until its messages are processed, and the rest of an unfinished
// message. Counts input that was read already even if there is no room. Returns the bytes for which there is no room.
size_t Session::NoteHeld(size_t piece_bytes) {
  const size_t kept = stage_ ? stage_->held_bytes() : 0;
  const std::optional<size_t> whole = stage_ ? stage_->whole_bytes() : std::nullopt;
  const size_t besides = piece_bytes + (stream_.tls() ? TlsStream::kHeldBytes : 0);
  const size_t wanted = besides + std::max(kept, whole.value_or(0));
  if (wanted <= noted_held_) {
    account_->GiveBack(noted_held_ - wanted, Memory::kWaiting);
  } else if (!account_->TryTake(wanted - noted_held_, Memory::kWaiting)) {
    const size_t held = besides + kept;
    account_->Take(held - std::min(held, noted_held_), Memory::kWaiting);
    account_->GiveBack(noted_held_ - std::min(held, noted_held_), Memory::kWaiting);
    noted_held_ = held;
    if (kept > 0 && !whole && !ended()) stage_->OnTooMuchHeld();
    return wanted - held;
  }
  noted_held_ = wanted;
  return 0;
}

// Answers count even if there is no room for them. A client that takes none could otherwise make the relay hold as many
// as it sends requests.
bool Session::OutputFillsAddress() const {
  const bool can_wait = stage_ && stage_->whole_bytes();
  return can_wait && blocked() && pending_bytes() > kLeastShare && !account_->HasRoom(1);
}

// Does not count the piece, which is used up in this turn.
bool Session::TakeRoom() {
  const size_t unheld = NoteHeld(0);  // first, because it gives the piece's bytes back
  const size_t missing = std::max(unheld, size_t{OutputFillsAddress()});
  if (missing == 0 || reads_always_) {
    lacks_room_since_.reset();
    return true;
  }
  if (!lacks_room_since_) lacks_room_since_ = thread_.Now();
  if (std::exchange(waits_for_room_, true)) return false;
  account_->WhenRoom(missing, Soon(&Session::OnRoom));
  return false;
}

void Session::OnRoom() {
  waits_for_room_ = false;
  ProcessSoon();
}

// If the address has no room for a whole piece, returns the room that the session has taken, or kLittle if that is
// more.
size_t Session::MostToRead() const {
  if (account_->HasRoom(kPieceBytes)) return kPieceBytes;
  const size_t held = (stage_ ? stage_->held_bytes() : 0) + (stream_.tls() ? TlsStream::kHeldBytes : 0);
  return std::clamp(noted_held_ - std::min(noted_held_, held), kLittle, kPieceBytes);
}

void Session::WaitReadable() {
  read_scheduled_ = true;
  stream_.socket().async_wait(asio::socket_base::wait_read, [self = shared_from_this()](boost::system::error_code) {
    self->readable_ = true;
    self->Guard([&] { self->TurnSoon(); });
  });
}

void Session::WaitWritable() {
  waiting_writable_ = true;
  untaken_ = std::numeric_limits<int>::max();
  stream_.socket().async_wait(asio::socket_base::wait_write, [self = shared_from_this()](boost::system::error_code) {
    self->waiting_writable_ = false;
    self->flush_due_ = true;
    self->Guard([&] { self->TurnSoon(); });
  });
}

size_t Session::Fill(boost::system::error_code& error) {
  TlsStream* const tls = stream_.tls();
  const bool was_ready = tls == nullptr || tls->ready();
  const size_t bytes = stream_.Fill(MostToRead(), error);
  thread_.counters().received_bytes.Add(bytes);
  if (tls == nullptr) return bytes;
  shook_hands_ = !was_ready && tls->ready();
  if (shook_hands_) thread_.counters().tls_handshakes.Add(1);
  Charge(tls->TakeWork());
  if (tls->output_bytes() > 0 || shook_hands_) Flush();
  return bytes;
}

// If the client has sent HTTP without TLS, answers in plain text and returns true.
bool Session::AnswersInClear() {
  const TlsStream& tls = *stream_.tls();
  ThreadCounters& counters = thread_.counters();
  if (tls.fault() == nullptr) return false;
  if (!tls.ready()) counters.tls_handshake_failures.Add(1);
  if (tls.spoke_http()) {
    stream_.DropTls();
    RefuseRequest(*this, counters.http_errors, SpeakTls(), "HTTP on a port that speaks TLS");
    return true;
  }
  if (const auto line = thread_.core().logs.handshake.Take(thread_.Now()))
    spdlog::info("{}: {}: {}{}", peer_.to_string(), tls.ready() ? "TLS ended" : "no TLS handshake", tls.fault(),
                 line->Suffix());
  return false;
}

void Session::OnReadable() {
  if (ended_ || (!ending_ && (paused() || !TakeRoom()))) return;
  if (ending_) stream_.Consume(stream_.piece().size());
  boost::system::error_code error;
  const size_t bytes = Fill(error);
  if (ending_) {
    stream_.Consume(bytes);
    input_ended_ = error.failed();
    // A peer that has only stopped sending may still take the output.
    const bool is_greeted = stream_.tls() == nullptr || stream_.tls()->ready();
    if (error && (error != asio::error::eof || half_closed_ || !is_greeted)) return End(cause_);
    return ReadOn();
  }
  if (bytes > 0) {
    last_heard_ = thread_.Now();
    if (place_ != nullptr) place_->Heard(last_heard_);
  }
  if (error && stream_.tls() != nullptr && AnswersInClear()) return;
  if (error) {
    input_ended_ = true;
    stream_.EndInput(error);
  }
  if (bytes > 0 || error || std::exchange(shook_hands_, false)) {
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
  if (turn_is_over()) {
    process_due_ = true;
  } else {
    ReadOn();
  }
}

void Session::ReadOn() {
  if (ended_ || read_scheduled_ || input_ended_) return;
  // Input that is in the piece when a pause begins is processed when the pause ends.
  if (!ending_ && (paused() || !stream_.piece().empty())) return;
  if (!stream_.has_more_input()) return WaitReadable();
  // A turn reads only one piece, so that other connections of this thread have turns in between.
  read_scheduled_ = true;
  readable_ = true;
  TurnSoon();
}

bool Session::OverShare() const {
  const size_t pending = pending_bytes();
  if (pending <= kLeastShare) return false;
  const ServerCore& core = thread_.core();
  const uint64_t most = core.settings.max_pending_total_mb << 20;
  if (core.Pending() <= most) return false;
  return pending > most / std::max<uint64_t>(core.places.taken(), 1);
}

void Session::OnFault(std::string_view what) {
  try {
    End("a fault in the server");
    thread_.LogFault(peer_.to_string(), what);
  } catch (const std::exception&) {
    End("no memory");  // so short that std::string allocates nothing
  }
}

void Session::End(std::string cause) {
  if (ended_) return;
  ended_ = true;
  if (!ending_) cause_ = std::move(cause);
  try {
    asio::post(thread_.context(), [self = shared_from_this()] { self->Finish(); });
  } catch (const std::exception&) {
    finishes_at_tick_ = true;
  }
}

void Session::EndAfterOutput(std::string cause, Then then) {
  if (ended()) return;
  // Before the TLS handshake is done nothing can be sent, so the session ends. But a refused connection may finish its
  // handshake, so that it gets the answer.
  if (stream_.tls() && !stream_.tls()->ready() && place_ != nullptr) return End(std::move(cause));
  ending_ = true;
  lingers_ = then == Then::kLinger;
  cause_ = std::move(cause);
  // The piece is consumed in a posted task, because the caller may be a stage that still reads it.
  asio::post(thread_.context(), [self = shared_from_this()] {
    self->stream_.Consume(self->stream_.piece().size());
    self->EndStage();
    self->Guard([&] {
      self->Flush();
      self->NoteHeld(0);
      self->ReadOn();
    });
  });
}

void Session::OnAllSent() {
  if (half_closed_) return;
  half_closed_ = true;
  if (!lingers_ || input_ended_) return End(cause_);
  thread_.BeginLinger();
  linger_until_ = thread_.Now() + kLastWordsTaken;
  shutdown(stream_.socket().native_handle(), SHUT_WR);
}

void Session::EndStage() {
  stream_.DropRead();
  const std::unique_ptr<Stage> stage = std::move(stage_);
  if (stage) Guard([&] { stage->OnEnd(cause_); });
}

void Session::Finish() {
  EndStage();
  thread_.counters().pending_bytes.Subtract(noted_pending_);
  GiveBackAll();
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
  thread_.Remove(*this);
}

void Session::OnTick(SteadyTime now) {
  if (std::exchange(finishes_at_tick_, false)) return Finish();
  if (ended_) return;
  Guard([&] {
    if (waiting_writable_) {
      NoteTaken(now);
      if (thread_.core().going.load(std::memory_order_relaxed) && now > last_sent_ + kPatienceAtShutdown)
        return End("took no output while the server was shutting down");
    }
    if (ending_) {
      if (now > (half_closed_ ? linger_until_ : last_sent_ + thread_.core().settings.handshake_timeout)) End(cause_);
      return;
    }
    if (lacks_room_since_) ProcessSoon();  // Account::WhenRoom does not report room that other addresses make
    if (stage_) stage_->OnTick(now);
  });
}

// Notes whether the peer has taken output. The system does not call a socket writable before a third of its buffer is
// free, which may take minutes with a slow reader.
void Session::NoteTaken(SteadyTime now) {
  int untaken = 0;
  if (ioctl(stream_.socket().native_handle(), SIOCOUTQ, &untaken) != 0) return;
  if (untaken < untaken_) last_sent_ = now;
  untaken_ = untaken;
}

bool Session::PeerHasHungUp() {
  pollfd polled{.fd = stream_.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&polled, 1, 0) > 0;
}

void Session::OnGiveUp() {
  if (ended_) return;
  const std::string why =
      "memory is short, and your address makes this relay hold most: " + std::to_string(account_->address_bytes()) +
      " bytes";
  bool ends_itself = false;
  if (stage_ && !ending_) Guard([&] { ends_itself = stage_->OnGiveUp(why); });
  if (ends_itself || ended_) return;
  if (const auto line = thread_.core().logs.memory.Take(thread_.Now()))
    spdlog::warn("{}: disconnected, {}{}", peer_.to_string(), why, line->Suffix());
  End(why);
}

void Session::OnGiveWay() {
  if (ended_) return;
  thread_.counters().gave_way.Add(1);
  if (const auto line = thread_.core().logs.refused.Take(thread_.Now()))
    spdlog::info("{}: disconnected, its place was needed: all {} connections are open (WEIR_MAX_CONNECTIONS){}",
                 peer_.to_string(), thread_.core().settings.max_connections, line->Suffix());
  End("its place was needed for another");
}

void Session::OnShutdown() {
  if (!ended() && stage_) Guard([this] { stage_->OnShutdown(); });
}

}  // namespace weir
