#include "relay/net/acceptor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace weir {
namespace {

using std::chrono::milliseconds;

// The pause after accept() has failed: a process without free file descriptors can accept again once some are closed.
constexpr milliseconds kBackOff{100};
// The time that Stop waits for TCP handshakes that have begun in its backlog. They end within a round trip.
constexpr milliseconds kRoundTrip{100};
// The most connections that are being refused with 503 at the same time. Further refused connections are closed without
// an answer.
constexpr uint64_t kMaxRefusing = 512;
// The most sockets that are accepted before the connections of the first thread have a turn.
constexpr int kMostATurn = 64;

// Returns true for the addresses from which programs on this machine connect by default.
bool IsHere(const IpAddress& peer) {
  namespace ip = boost::asio::ip;
  return peer == IpAddress(ip::address_v4::loopback()) || peer == IpAddress(ip::address_v6::loopback());
}

bool PeerGaveUp(int error) { return error == ECONNABORTED || error == EPROTO || error == EINTR || error == EPERM; }

void LogFailure(ServerCore& core, const std::string& text) {
  if (const auto line = core.logs.accept.Take(std::chrono::steady_clock::now())) {
    spdlog::error("{}{}", text, line->Suffix());
  }
}

}  // namespace

Acceptor::Acceptor(Listener listener, std::vector<std::unique_ptr<IoThread>>& threads)
    : listener_(std::move(listener)),
      threads_(threads),
      core_(threads[0]->core()),
      descriptor_(threads[0]->context(), listener_.socket()),
      timer_(threads[0]->context()) {
  // Wait and WaitLater may throw if memory runs out.
  threads[0]->AtEachTick([this] {
    if (must_wait_ && !stopping_) Wait();
  });
}

Acceptor::~Acceptor() { descriptor_.release(); }

void Acceptor::Start() {
  listener_.TakeNew();
  must_wait_ = true;
  Wait();
}

void Acceptor::Wait() {
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read, [this](boost::system::error_code error) {
    must_wait_ = true;
    if (stopping_) return;
    if (error) {
      LogFailure(core_, "cannot wait for connections: " + error.message());
      return WaitLater();
    }
    if (TakeSome() == Taken::kFailed) return WaitLater();
    Wait();
  });
  must_wait_ = false;
}

void Acceptor::WaitLater() {
  timer_.expires_after(kBackOff);
  timer_.async_wait([this](boost::system::error_code) {
    must_wait_ = true;
    if (!stopping_) Wait();
  });
  must_wait_ = false;
}

void Acceptor::Stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  listener_.LetTheYoungerHaveNew();
  TakeAll();
  try {
    timer_.expires_after(kRoundTrip);
    timer_.async_wait([this](boost::system::error_code) { Close(); });
  } catch (const std::exception&) {  // no memory to wait
    Close();
  }
}

void Acceptor::Close() {
  TakeAll();
  descriptor_.release();
  listener_.Close();
  std::exchange(stopped_, nullptr)();
}

void Acceptor::TakeAll() try {
  while (TakeSome() == Taken::kSome) continue;
} catch (const std::exception&) {  // no memory to log a failure
}

Acceptor::Taken Acceptor::TakeSome() try {
  for (int n = 0; n < kMostATurn; ++n) {
    IpAddress peer;
    const int socket = listener_.AcceptOne(&peer);
    if (socket >= 0) {
      Hand(socket, peer);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Taken::kAll;
    if (PeerGaveUp(errno)) continue;
    const int error = errno;
    LogFailure(core_, std::string("cannot accept connections: ") + std::strerror(error) +
                          (error == EMFILE ? "; raise the limit of open files (ulimit -n)" : ""));
    return Taken::kFailed;
  }
  return Taken::kSome;
} catch (const std::exception& e) {
  LogFailure(core_, std::string("cannot accept connections: ") + e.what());
  return Taken::kFailed;
}

void Acceptor::Hand(int socket, const IpAddress& peer) {
  Accepted accepted{.socket = OwnedSocket(socket), .peer = peer, .place = nullptr};
  Places& places = core_.places;
  accepted.refusal =
      core_.proxies.Contains(peer) ? places.TakeUnnamed(&accepted.place) : places.Take(peer, &accepted.place);
  if (accepted.place == nullptr && IsHere(peer)) accepted.place = places.TakeOfHere();
  if (accepted.place == nullptr) {
    const uint64_t refused = core_.refusing.fetch_add(1, std::memory_order_relaxed);
    accepted.refused.reset(&core_.refusing);
    if (refused >= kMaxRefusing) return;
  }
  // Threads that have equally many sessions get connections in turn.
  next_ = (next_ + 1) % threads_.size();
  size_t least = next_;
  for (size_t n = 0; n < threads_.size(); ++n)
    if (threads_[n]->load() < threads_[least]->load()) least = n;
  threads_[least]->Adopt(std::move(accepted));
}

}  // namespace weir
