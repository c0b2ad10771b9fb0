#include "relay/net/grpc/grpc_watch.h"

#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/net/client_address.h"
#include "relay/net/grpc/grpc_stream.h"

namespace weir {
namespace {

class Watch;

// WatchLife: tells the method that answers the watch whether the watch still exists.
class WatchLife {
 public:
  void End() {
    HttpReply::LeftHandler told;
    {
      const MutexLock lock(mutex_);
      ended_ = true;
      told.swap(told_);
    }
    if (told) told(HttpLeft::kClient);
  }
  bool ended() const {
    const MutexLock lock(mutex_);
    return ended_;
  }
  void TellEndTo(HttpReply::LeftHandler handler) {
    {
      const MutexLock lock(mutex_);
      if (!ended_) return told_.swap(handler);
    }
    handler(HttpLeft::kClient);
  }
  void Answered() {
    HttpReply::LeftHandler dropped;
    const MutexLock lock(mutex_);
    told_.swap(dropped);
  }

 private:
  mutable Mutex mutex_;
  HttpReply::LeftHandler told_ WEIR_GUARDED_BY(mutex_);
  bool ended_ WEIR_GUARDED_BY(mutex_) = false;
};

// Brings one answer to the watch.
class WatchAnswer final : public HttpReply::Receiver {
 public:
  using Take = std::function<void(const HttpResponse& answer)>;
  WatchAnswer(HttpPoster post, std::shared_ptr<WatchLife> life, Take take)
      : post_(std::move(post)), life_(std::move(life)), take_(std::move(take)) {}
  WatchAnswer(const WatchAnswer&) = delete;
  WatchAnswer& operator=(const WatchAnswer&) = delete;
  ~WatchAnswer() override {
    if (given_.load(std::memory_order_relaxed)) return;
    try {
      Give(GrpcError({GrpcCode::kInternal, "nobody answered"}));
    } catch (const std::exception&) {  // no memory for the answer
      post_(nullptr);                  // a task that is lost ends the stream
    }
  }

  void Give(HttpResponse response) override {
    if (given_.exchange(true, std::memory_order_relaxed)) return;
    life_->Answered();
    post_([take = take_, answer = std::move(response)] { take(answer); });
  }
  bool Abandoned() const override { return life_->ended(); }
  void OnLeft(HttpReply::LeftHandler handler) override {
    if (!given_.load(std::memory_order_relaxed)) life_->TellEndTo(std::move(handler));
  }

 private:
  const HttpPoster post_;
  const std::shared_ptr<WatchLife> life_;
  const Take take_;
  std::atomic<bool> given_{false};
};

// The state that all watches of a method share.
struct WatchedMethod {
  const GrpcWatched watched;
  const std::chrono::milliseconds beat;
  AddressSlots open;
  std::atomic<uint64_t> begun{0};
};

class Watch final : public GrpcStreamHandler {
 public:
  // `place` is the address whose number of open watches includes this one; nullopt if the address has too many.
  Watch(std::shared_ptr<WatchedMethod> method, const GrpcCall& call, GrpcStream& stream, std::optional<IpAddress> place)
      : method_(std::move(method)),
        stream_(stream),
        head_(call.http),
        deadline_(call.deadline),
        next_beat_(FirstBeat(method_->begun.fetch_add(1, std::memory_order_relaxed), method_->beat)),
        place_(std::move(place)),
        post_(stream.poster()),
        timer_(std::in_place, stream.executor()) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() override {
    if (place_) method_->open.Return(*place_);
  }

  void OnMessage(std::string_view framed) override {
    if (!message_.empty()) return stream_.Finish({GrpcCode::kInternal, "something follows the message, expected one"});
    message_ = framed;
    if (!place_) {
      return stream_.Finish(
          {GrpcCode::kResourceExhausted, "this address watches as much as it may: end one of its watches first"});
    }
    Ask();
  }
  void OnMessagesEnd() override {
    if (message_.empty()) stream_.Finish({GrpcCode::kInternal, "a message is missing"});
  }
  void OnEnd() override {
    timer_.reset();
    life_->End();
  }

 private:
  void Ask() {
    const GrpcCall call{head_, deadline_};
    method_->watched.ask(
        call, message_, HttpReply(std::make_shared<WatchAnswer>(post_, life_, [this](const auto& a) { OnAnswer(a); })));
  }

  void OnAnswer(const HttpResponse& answer) {
    if (answer.body.empty()) return stream_.FinishWith(answer.headers);
    std::string state = method_->watched.state(answer.body);
    if (std::exchange(told_, true) && state == state_) return AskAtNextBeat();
    state_ = std::move(state);
    stream_.SendFramed(answer.body);
    AskAtNextBeat();
  }

  void AskAtNextBeat() {
    timer_->expires_after(std::exchange(next_beat_, method_->beat));
    timer_->async_wait([this, post = post_](const boost::system::error_code& error) {
      if (!error) post([this] { OnBeat(); });
    });
  }

  void OnBeat() {
    if (deadline_ && Clock::System().Now() > *deadline_)
      return stream_.Finish({GrpcCode::kDeadlineExceeded, "the deadline has passed"});
    stream_.WhenTaken([this] { Ask(); });
  }

  const std::shared_ptr<WatchedMethod> method_;
  GrpcStream& stream_;
  const HttpRequest head_;
  const std::optional<TimePoint> deadline_;
  std::chrono::nanoseconds next_beat_;
  const std::optional<IpAddress> place_;
  const HttpPoster post_;
  const std::shared_ptr<WatchLife> life_ = std::make_shared<WatchLife>();
  std::optional<boost::asio::steady_timer> timer_;  // must not outlive the exchange
  std::string message_;                             // the client's message, framed
  std::string state_;                               // the state that was sent last
  bool told_ = false;
};

}  // namespace

// Uses the multiples of the golden ratio, in 32 bits.
std::chrono::nanoseconds FirstBeat(uint64_t n, std::chrono::nanoseconds beat) {
  constexpr uint64_t kGoldenRatio = 0x9e3779b9;
  const double part = static_cast<double>(static_cast<uint32_t>(n * kGoldenRatio)) / 0x1p32;
  return std::chrono::nanoseconds(std::llround(static_cast<double>(beat.count()) * (1 - part)));
}

void AddGrpcWatch(HttpRouter& router, std::string path, const GrpcWatchPace& pace, GrpcWatched watched) {
  const auto method = std::shared_ptr<WatchedMethod>(new WatchedMethod{
      .watched = std::move(watched), .beat = pace.beat, .open = AddressSlots(pace.most_of_an_address)});
  AddGrpcStream(router, std::move(path), [method](const GrpcCall& call, GrpcStream& stream) {
    std::optional<IpAddress> place = boost::asio::ip::make_address(call.http.address);
    if (!method->open.Take(*place)) place.reset();
    return std::make_shared<Watch>(method, call, stream, std::move(place));
  });
}

}  // namespace weir
