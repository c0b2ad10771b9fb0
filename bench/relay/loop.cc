#include "bench/relay/loop.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace weir {
namespace {

std::atomic<bool> interrupted{false};

void Interrupt(int) { interrupted = true; }

// How often `done`, the deadline and the interruption are checked when nothing happens.
constexpr Duration kLongestWait = std::chrono::milliseconds(50);

// epoll_pwait2 takes nanoseconds, and some sandboxes do not know it.
int WaitFor(int epoll, epoll_event* events, int most, const timespec& wait) {
  const int ready = epoll_pwait2(epoll, events, most, &wait, nullptr);
  if (ready >= 0 || errno != ENOSYS) return ready;
  pollfd any{.fd = epoll, .events = POLLIN};
  return ppoll(&any, 1, &wait, nullptr) < 0 ? -1 : epoll_wait(epoll, events, most, 0);
}

}  // namespace

void InterruptLoopsOnSignals() {
  struct sigaction action {};
  action.sa_handler = Interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Loop::Loop(Duration patience) : epoll_(epoll_create1(EPOLL_CLOEXEC)), deadline_(Now() + patience) {}

Loop::~Loop() { close(epoll_); }

Status Loop::Watch(ClientSocket* connection, Listener* listener) {
  watched_.push_back(std::make_unique<Watched>(Watched{.connection = connection, .listener = listener}));
  epoll_event event{.events = EPOLLIN, .data = {.ptr = watched_.back().get()}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->fd(), &event) != 0)
    return Status::Error(std::string("epoll_ctl: ") + std::strerror(errno));
  return Status();
}

void Loop::Forget(const ClientSocket* connection) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection->fd(), nullptr);
  std::erase_if(watched_, [&](const auto& watched) { return watched->connection == connection; });
}

void Loop::At(TimePoint time, std::function<void(TimePoint at)> call) { timers_.emplace(time, std::move(call)); }

Status Loop::Run(const std::function<bool()>& done, const std::string& what) {
  while (!done()) {
    if (interrupted) return Status::Error("interrupted");
    if (Now() > deadline_) return Status::Error("gave up waiting for " + what);
    if (Status s = Turn(); !s.ok()) return s;
  }
  return Status();
}

Status Loop::RunFor(Duration duration, const std::function<bool()>& done) {
  const TimePoint end = Now() + duration;
  return Run([&] { return done() || Now() >= end; }, "the end of a pause");
}

timespec Loop::TimeToNextTimer() const {
  Duration wait = kLongestWait;
  if (!timers_.empty()) wait = std::clamp(timers_.begin()->first - Now(), Duration::zero(), kLongestWait);
  return {.tv_sec = 0, .tv_nsec = wait.count()};
}

Status Loop::Turn() {
  CallTimers();
  if (Status s = FlushAll(); !s.ok()) return s;
  constexpr int kMostEvents = 128;
  epoll_event events[kMostEvents];
  const int ready = WaitFor(epoll_, events, kMostEvents, TimeToNextTimer());
  if (ready < 0 && errno != EINTR) return Status::Error(std::string("epoll: ") + std::strerror(errno));
  for (int i = 0; i < ready; ++i)
    if (Status s = Serve(*static_cast<Watched*>(events[i].data.ptr), events[i].events); !s.ok()) return s;
  return FlushAll();
}

Status Loop::Serve(Watched& watched, uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    watched.writing = false;  // FlushAll tries again
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &watched}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, watched.connection->fd(), &event);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return Status();
  TimePoint now{};
  Status status = watched.connection->Receive([&](std::string_view message) {
    if (now == TimePoint{}) now = Now();
    watched.listener->OnMessage(*watched.connection, message, now);
  });
  if (status.ok() && now != TimePoint{}) watched.listener->OnMessagesTaken(*watched.connection, now);
  return status;
}

Status Loop::FlushAll() {
  for (const auto& watched : watched_) {
    ClientSocket& connection = *watched->connection;
    if (watched->writing || !connection.wants_to_write()) continue;
    if (Status s = connection.Flush(); !s.ok()) return s;
    if (!connection.wants_to_write()) continue;
    watched->writing = true;
    epoll_event event{.events = EPOLLIN | EPOLLOUT, .data = {.ptr = watched.get()}};
    if (epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd(), &event) != 0)
      return Status::Error(std::string("epoll_ctl: ") + std::strerror(errno));
  }
  return Status();
}

void Loop::CallTimers() {
  const TimePoint now = Now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto first = timers_.extract(timers_.begin());
    first.mapped()(first.key());
  }
}

}  // namespace weir
