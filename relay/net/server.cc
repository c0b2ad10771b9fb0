#include "relay/net/server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "config/cores.h"
#include "relay/net/acceptor.h"
#include "relay/net/io_thread.h"
#include "relay/net/server_core.h"

namespace weir {

namespace {

// The time that peers have to close their connections once all output was sent. The kernel still delivers the output to
// a distant peer after this time.
constexpr std::chrono::milliseconds kGoodbye{100};

size_t ThreadCount(const ServerSettings& settings) {
  if (settings.io_threads > 0) return settings.io_threads;
  return std::max(1U, Cores() / 2);
}

}  // namespace

Server::Server(const ServerSettings& settings, HttpRouter router, ConnectionHandlerFactory factory,
               std::shared_ptr<Ledger> ledger)
    : core_(std::make_unique<ServerCore>(
          settings, std::move(router), std::move(factory),
          ledger != nullptr ? std::move(ledger) : std::make_shared<Ledger>(LedgerBoundsOf(settings)))) {
  for (size_t n = 0; n < ThreadCount(settings); ++n) threads_.push_back(std::make_unique<IoThread>(*core_, n));
  for (const auto& thread : threads_) core_->counters.push_back(&thread->counters());
}

Server::~Server() {
  ForceShutdown();
  Shutdown(std::chrono::milliseconds(0));
}

Status Server::Listen(bool take_over) {
  auto proxies = TrustedProxies::Parse(core_->settings.trusted_proxies);
  if (!proxies.ok()) return proxies.status();
  core_->proxies = std::move(proxies).value();
  if (speaks_tls()) {
    auto certificate = ServedCertificate::Open(core_->settings.tls);
    if (!certificate.ok()) return certificate.status();
    core_->certificate = std::move(certificate).value();
  }
  auto listener = Listener::Open(core_->settings, take_over);
  if (!listener.ok()) return listener.status();
  RaiseFileLimit(core_->settings.max_connections);
  port_ = listener.value().port();
  acceptor_ = std::make_unique<Acceptor>(std::move(listener).value(), threads_);
  for (const auto& thread : threads_) thread->Start();
  return Status();
}

bool Server::speaks_tls() const { return !core_->settings.tls.empty(); }

void Server::ReloadCertificate() {
  if (core_->certificate) core_->certificate->ReloadSoon();
}

void Server::Accept() {
  boost::asio::post(executor(0), [this] { acceptor_->Start(); });
}

boost::asio::any_io_executor Server::executor(size_t io_thread) {
  return threads_[io_thread]->context().get_executor();
}

bool Server::Empty() const {
  return std::all_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread->load() == 0; });
}

bool Server::AllIsSaid() const {
  return std::all_of(threads_.begin(), threads_.end(),
                     [](const auto& thread) { return thread->load() == thread->lingering(); });
}

// Waits until `condition` is true, but not beyond `until`, and not after ForceShutdown was called.
void Server::Await(SteadyTime until, const std::function<bool()>& condition) {
  MutexLock lock(core_->end_mutex);
  core_->end.wait_until(lock, until, [&]() WEIR_REQUIRES(core_->end_mutex) { return core_->forced || condition(); });
}

// Waits for a condition that the I/O threads make true within a turn; at most for a second, because a handler may
// block.
void Server::AwaitTurn(const std::function<bool()>& condition) {
  MutexLock lock(core_->end_mutex);
  core_->end.wait_for(lock, std::chrono::seconds(1), condition);
}

void Server::StopAccepting(SteadyTime until) {
  const auto stopped = std::make_shared<bool>(false);  // protected by end_mutex
  std::function<void()> tell = [this, stopped] {
    const MutexLock lock(core_->end_mutex);
    *stopped = true;
    core_->end.notify_all();
  };
  boost::asio::post(threads_[0]->context(),
                    [this, tell = std::move(tell)]() mutable { acceptor_->Stop(std::move(tell)); });
  Await(until, [&] { return *stopped; });
  boost::asio::post(threads_[0]->context(), [this] { acceptor_->HurryUp(); });
  AwaitTurn([&] { return *stopped; });
}

void Server::Shutdown(std::chrono::milliseconds longest) {
  if (core_->going.load()) ForceShutdown();
  const MutexLock one(shutdown_mutex_);
  if (!acceptor_) return;
  const SteadyTime until = std::chrono::steady_clock::now() + longest;
  core_->going = true;
  StopAccepting(until);
  for (const auto& thread : threads_) thread->Shutdown();
  Await(until, [&] { return AllIsSaid(); });
  Await(std::min(until, std::chrono::steady_clock::now() + kGoodbye), [&] { return Empty(); });
  for (const auto& thread : threads_) thread->EndAll();
  AwaitTurn([&] { return Empty(); });
  for (const auto& thread : threads_) thread->StopAndJoin();
  acceptor_.reset();
}

void Server::ForceShutdown() {
  const MutexLock lock(core_->end_mutex);
  core_->forced = true;
  core_->end.notify_all();
}

std::vector<ClientConnections> Server::HeaviestClients(size_t most, const std::vector<uint64_t>& groups) const {
  return core_->places.Heaviest(most, groups);
}

ServerStats Server::Stats() const {
  ServerStats stats;
  if (core_->certificate) core_->certificate->AddTo(stats.tls.emplace());
  for (const auto& thread : threads_) {
    const ThreadCounters& c = thread->counters();
    stats.connections += c.connections.value();
    stats.accepted += c.accepted.value();
    stats.refused_limit += c.refused_limit.value();
    stats.gave_way += c.gave_way.value();
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
    if (!stats.tls) continue;
    stats.tls->handshakes += c.tls_handshakes.value();
    stats.tls->handshake_failures += c.tls_handshake_failures.value();
  }
  return stats;
}

}  // namespace weir
