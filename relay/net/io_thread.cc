#include "relay/net/io_thread.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "config/text/readable.h"
#include "relay/net/http_stage.h"
#include "relay/net/session.h"

namespace weir {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

// The most unsent bytes of a connection that the kernel may keep. Further bytes wait here, where they are counted.
// Without this bound the kernel keeps 4 MB for each client that takes nothing; copying these for 150 clients took a
// thread 0.2 s.
constexpr int kMostUnsentBytes = 128 << 10;

// The longest time from a Tick, or turns, that failed to the next attempt.
constexpr milliseconds kRetry{10};

// Returns the interval of Tick. It is so short that neither the handshake timeout nor the ping interval is exceeded by
// more than a quarter. A check of 10,000 connections takes 0.1 ms.
milliseconds Beat(const ServerSettings& s) {
  const milliseconds shortest = std::min(s.handshake_timeout, s.ping_interval);
  return std::clamp(shortest / 4, milliseconds(10), milliseconds(1000));
}

}  // namespace

IoThread::IoThread(ServerCore& core, size_t index)
    : core_(core), index_(index), work_(context_.get_executor()), timer_(context_), beat_(Beat(core.settings)) {}

IoThread::~IoThread() = default;

void IoThread::Start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), ("weir-io-" + std::to_string(index_)).c_str());
    Run();
  });
}

// Runs the thread. Logs exceptions that belong to no session, most likely those of tasks that handlers have posted. If
// memory ran out for the timer of the next Tick, or for the task of the next turns, calls Tick or RunTurns here. If
// these fail again, posted tasks run before the next attempt, because they may free memory.
void IoThread::Run() {
  bool failed = false;
  while (!context_.stopped()) {
    try {
      if (std::exchange(failed, false)) context_.run_for(kRetry);
      failed = true;
      if (!ticks_) Tick();
      if (!runs_turns_ && !line_.empty()) RunTurns();
      failed = false;
      context_.run();
    } catch (const std::exception& e) {
      LogFault("I/O thread " + std::to_string(index_), e.what());
    } catch (...) {
      LogFault("I/O thread " + std::to_string(index_), "of no known kind");
    }
  }
}

void IoThread::LogFault(const std::string& where, std::string_view what) try {
  if (const auto line = core_.logs.fault.Take(Now()))
    spdlog::error("{}: exception in handler: {}{}", where, AsText(what), line->Suffix());
} catch (const std::exception&) {  // no memory to log this
}

void IoThread::EndAll() {
  asio::post(context_, [this] {
    for (const auto& session : sessions_) session->Guard([&] { session->End("the server ended"); });
  });
}

void IoThread::StopAndJoin() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void IoThread::Shutdown() {
  asio::post(context_, [this] {
    for (size_t n = 0; n < sessions_.size(); ++n) sessions_[n]->OnShutdown();
  });
}

void IoThread::Adopt(Accepted accepted) {
  load_.fetch_add(1, std::memory_order_relaxed);
  OrOneLess([&] {
    asio::post(context_, [this, accepted = std::move(accepted)]() mutable {
      std::shared_ptr<Session> session;
      OrOneLess([&] { session = Begin(std::move(accepted)); });
      session->Start();
    });
  });
}

// Calls `take`. If that throws, because there is no memory for the session or no room in the kernel, subtracts the
// session from load_ and throws again; the socket is then closed.
template <typename Do>
void IoThread::OrOneLess(Do take) {
  try {
    take();
  } catch (...) {
    load_.fetch_sub(1);
    NotifyEnd();
    throw;
  }
}

std::shared_ptr<Session> IoThread::Begin(Accepted accepted) {
  const int on = 1;
  const int given = accepted.socket.get();
  setsockopt(given, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(given, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMostUnsentBytes, sizeof kMostUnsentBytes);
  // The address family does not matter, because Asio only waits for this socket.
  BufferedStream::Socket socket(context_.get_executor());
  socket.assign(asio::ip::tcp::v4(), given);
  accepted.socket.Take();
  counters_.accepted.Add(1);
  const Refusal refusal = accepted.place == nullptr ? accepted.refusal : Refusal::kNone;
  auto session = std::make_shared<Session>(*this, std::move(socket), std::move(accepted));
  session->OpenAccount(session->peer());
  session->SetStage(MakeFirstStage(*session, refusal));
  session->index = sessions_.size();
  sessions_.push_back(session);
  return session;
}

void IoThread::BeginLinger() {
  lingering_.fetch_add(1);
  NotifyEnd();
}

void IoThread::Remove(Session& session) {
  const size_t index = session.index;
  if (index >= sessions_.size() || sessions_[index].get() != &session) return;  // the session has never begun
  std::swap(sessions_[index], sessions_.back());
  sessions_[index]->index = index;
  sessions_.pop_back();
  if (session.is_lingering()) lingering_.fetch_sub(1);
  load_.fetch_sub(1);
  NotifyEnd();
}

void IoThread::NotifyEnd() {
  if (!core_.going) return;
  const MutexLock lock(core_.end_mutex);
  core_.end.notify_all();
}

void IoThread::TurnSoon(std::shared_ptr<Session> session, Work expected) {
  const Party party{.group = session->group()};
  RunTurnsSoon();
  line_.Push(party, {std::move(session), party, expected}, expected);
}

void IoThread::RunTurnsSoon() {
  if (runs_turns_) return;
  asio::post(context_, [this] { RunTurns(); });  // may throw if memory runs out
  runs_turns_ = true;
}

// Runs turns until they have cost kMostATurn, then posts itself. The context checks its sockets between two posted
// tasks, so a client that sends now has to wait for only one long turn of others before its session is queued.
void IoThread::RunTurns() try {
  runs_turns_ = true;
  for (Work spent = 0; spent < Session::kMostATurn && !line_.empty();) {
    const Due due = line_.Pop();
    const Work work = due.session->OnTurn();
    line_.End(due.party, due.expected, work);
    spent += work;
  }
  runs_turns_ = false;
  if (!line_.empty()) RunTurnsSoon();
} catch (...) {
  runs_turns_ = false;  // Run runs the next turns
  throw;
}

void IoThread::Tick() {
  ticks_ = false;
  const SteadyTime now = Now();
  // A session may remove itself; the last one, which has had its tick, then takes its index.
  for (size_t n = sessions_.size(); n-- > 0;) std::shared_ptr(sessions_[n])->OnTick(now);
  // From here on exceptions may be thrown if memory runs out.
  timer_.expires_at(now + beat_);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) Tick();
  });
  ticks_ = true;
  if (at_each_tick_) at_each_tick_();
}

}  // namespace weir
