#include "relay/server/server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "relay/server/acceptor.h"
#include "relay/server/io_thread.h"
#include "relay/server/server_core.h"

namespace weir {

struct Server::Rep {
  Rep(const ServerSettings& settings, HttpRouter router, ConnectionHandlerFactory factory)
      : core(settings, std::move(router), std::move(factory)) {}

  ServerCore core;
  std::vector<std::unique_ptr<IoThread>> threads;
  std::unique_ptr<Acceptor> acceptor;
  uint16_t port = 0;
  std::mutex shutdown_mutex;  // one Shutdown at a time

  bool Empty() const {
    return std::all_of(threads.begin(), threads.end(), [](const auto& thread) { return thread->load() == 0; });
  }
  // Until the condition or the time comes, or ForceShutdown.
  template <typename Condition>
  void Await(SteadyTime until, Condition condition) {
    std::unique_lock lock(core.end_mutex);
    core.end.wait_until(lock, until, [&] { return core.forced || condition(); });
  }
  // For what ends within a turn of the I/O threads. A handler that blocks is not waited for longer.
  template <typename Condition>
  void AwaitTurn(Condition condition) {
    std::unique_lock lock(core.end_mutex);
    core.end.wait_for(lock, std::chrono::seconds(1), condition);
  }
  void StopAccepting(SteadyTime until);
};

namespace {

size_t ThreadCount(const ServerSettings& settings) {
  if (settings.io_threads > 0) return settings.io_threads;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

Server::Server(const ServerSettings& settings, HttpRouter router, ConnectionHandlerFactory factory)
    : rep_(std::make_unique<Rep>(settings, std::move(router), std::move(factory))) {
  for (size_t n = 0; n < ThreadCount(settings); ++n) rep_->threads.push_back(std::make_unique<IoThread>(rep_->core, n));
  for (const auto& thread : rep_->threads) rep_->core.counters.push_back(&thread->counters());
}

Server::~Server() {
  ForceShutdown();
  Shutdown(std::chrono::milliseconds(0));
}

Status Server::Listen(bool take_over) {
  auto proxies = TrustedProxies::Parse(rep_->core.settings.trusted_proxies);
  if (!proxies.ok()) return proxies.status();
  rep_->core.proxies = std::move(proxies).value();
  auto listener = Listener::Open(rep_->core.settings, take_over);
  if (!listener.ok()) return listener.status();
  RaiseFileLimit(rep_->core.settings.max_connections);
  rep_->port = listener.value().port();
  rep_->acceptor = std::make_unique<Acceptor>(std::move(listener).value(), rep_->threads);
  for (const auto& thread : rep_->threads) thread->Start();
  return Status();
}

void Server::Accept() {
  boost::asio::post(executor(0), [this] { rep_->acceptor->Start(); });
}

uint16_t Server::port() const { return rep_->port; }

size_t Server::io_threads() const { return rep_->threads.size(); }

boost::asio::any_io_executor Server::executor(size_t io_thread) {
  return rep_->threads[io_thread]->context().get_executor();
}

void Server::Rep::StopAccepting(SteadyTime until) {
  const auto stopped = std::make_shared<bool>(false);  // under end_mutex
  boost::asio::post(threads[0]->context(), [this, stopped] {
    acceptor->Stop([this, stopped] {
      const std::lock_guard lock(core.end_mutex);
      *stopped = true;
      core.end.notify_all();
    });
  });
  Await(until, [&] { return *stopped; });
  boost::asio::post(threads[0]->context(), [this] { acceptor->HurryUp(); });
  AwaitTurn([&] { return *stopped; });
}

void Server::Shutdown(std::chrono::milliseconds longest) {
  if (rep_->core.going.load()) ForceShutdown();
  const std::lock_guard one(rep_->shutdown_mutex);
  if (!rep_->acceptor) return;
  const SteadyTime until = std::chrono::steady_clock::now() + longest;
  rep_->core.going = true;
  rep_->StopAccepting(until);
  for (const auto& thread : rep_->threads) thread->Shutdown();
  rep_->Await(until, [&] { return rep_->Empty(); });
  for (const auto& thread : rep_->threads) thread->EndAll();
  rep_->AwaitTurn([&] { return rep_->Empty(); });
  for (const auto& thread : rep_->threads) thread->StopAndJoin();
  rep_->acceptor.reset();
}

void Server::ForceShutdown() {
  const std::lock_guard lock(rep_->core.end_mutex);
  rep_->core.forced = true;
  rep_->core.end.notify_all();
}

ServerStats Server::Stats() const {
  ServerStats stats;
  for (const auto& thread : rep_->threads) {
    const ThreadCounters& c = thread->counters();
    stats.connections += c.connections.value();
    stats.accepted += c.accepted.value();
    stats.refused_limit += c.refused_limit.value();
    stats.refused_address_limit += c.refused_address_limit.value();
    stats.handshake_failures += c.handshake_failures.value();
    stats.http_errors += c.http_errors.value();
    stats.too_slow += c.too_slow.value();
    stats.policy_closes += c.policy_closes.value();
    stats.protocol_errors += c.protocol_errors.value();
    stats.pings_unanswered += c.pings_unanswered.value();
    stats.http_requests += c.http_requests.value();
    stats.received_bytes += c.received_bytes.value();
    stats.sent_bytes += c.sent_bytes.value();
    stats.pending_bytes += c.pending_bytes.value();
  }
  return stats;
}

}  // namespace weir
