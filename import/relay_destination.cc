#include "import/relay_destination.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "config/parse.h"
#include "import/import_answer.h"
#include "import/relay_upload.h"
#include "import/unsettled.h"

namespace weir {
namespace {

namespace asio = boost::asio;

constexpr uint64_t kWindowBytes = 16 << 20;

// What the relay says, whether in an answer of its own form or in words.
ImportError ErrorOf(const std::string& body) {
  for (std::string_view rest = body; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const Result<ImportAnswerLine> parsed = ParseAnswerLine(line);
    if (parsed.ok() && std::holds_alternative<ImportError>(parsed.value()))
      return std::get<ImportError>(parsed.value());
  }
  const std::string_view text = TrimBlanks(body);
  return {.message = std::string(text.substr(0, text.find('\n')))};
}

class RelayDestination final : public Destination, public RelayUpload::Handler {
 public:
  RelayDestination(const RelayAddress& address, HttpUrl url, const DestinationOptions& options, OnSettled on_settled,
                   const RelayDestinationTimes& times)
      : address_(address),
        url_(std::move(url)),
        target_(options.judge.verify ? "/api/import" : "/api/import?verify=false"),
        times_(times),
        on_settled_(std::move(on_settled)),
        unsettled_(options.judge),
        thread_([this] { io_.run(); }) {}

  ~RelayDestination() override {
    Stop();
    io_.stop();
    thread_.join();
  }

  bool Push(Chunk chunk) override {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return unsettled_.weight() < kWindowBytes || stopped_ || !failure_.ok(); });
      if (stopped_ || !failure_.ok()) return false;
      unsettled_.Add(std::move(chunk));
      ++open_;
    }
    KickSoon();
    return true;
  }

  Status Finish() override {
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    KickSoon();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0 || stopped_ || !failure_.ok(); });
    if (!failure_.ok()) return failure_;
    return open_ == 0 ? Status() : Status::Error("stopped");
  }

  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    KickSoon();
  }

  ImportConditions Conditions() const override {
    const std::lock_guard lock(mutex_);
    return conditions_;
  }

  std::string Describe() const override {
    std::string text = "the relay at " + address_.url;
    if (!address_.holder.empty()) text += " (" + address_.holder.substr(0, address_.holder.find(" (")) + ")";
    return text;
  }

 private:
  void KickSoon() {
    asio::post(io_, [this] { Kick(); });
  }

  // What can be done now is done.
  void Kick() {
    Settle();
    std::unique_lock lock(mutex_);
    if (stopped_ || !failure_.ok()) {
      if (upload_) std::exchange(upload_, nullptr)->Close();
      retry_.reset();
      return;
    }
    const bool begin = !upload_ && !retry_ && !unsettled_.empty();
    lock.unlock();
    if (begin) return Begin();
    if (upload_ && has_room_) SendNext();
  }

  void Begin() {
    {
      const std::lock_guard lock(mutex_);
      unsettled_.BeginBody();
    }
    has_room_ = body_ended_ = done_ = false;
    error_ = {};
    lines_ = 0;
    token_ = TokenNow();
    upload_ = std::make_shared<RelayUpload>(io_, *this);
    upload_->Start(url_, target_, token_);
  }

  void SendNext() {
    idle_.reset();
    if (body_ended_) return;
    std::unique_lock lock(mutex_);
    const std::optional<Unsettled::Body> next = unsettled_.Next();
    const bool finishing = finishing_;
    lock.unlock();
    if (next) {
      has_room_ = false;
      return upload_->Send(*next);
    }
    if (finishing) return EndBody();
    idle_.emplace(io_, times_.idle);
    idle_->async_wait([this, upload = std::weak_ptr(upload_)](const boost::system::error_code& error) {
      if (!error && upload_ && upload_ == upload.lock() && has_room_) EndBody();
    });
  }

  void EndBody() {
    body_ended_ = true;
    upload_->EndBody();
  }

  void OnRoom() override {
    has_room_ = true;
    {
      const std::lock_guard lock(mutex_);
      unsettled_.NoteSent();
    }
    Kick();
  }

  void OnLine(std::string_view line) override {
    Result<ImportAnswerLine> parsed = ParseAnswerLine(line);
    if (!parsed.ok()) {
      std::exchange(upload_, nullptr)->Close();
      idle_.reset();
      return Retry("does not answer as a relay does: " + parsed.status().message());
    }
    if (const auto* reject = std::get_if<ImportReject>(&parsed.value())) {
      const std::lock_guard lock(mutex_);
      unsettled_.NoteReject(*reject);
    } else if (const auto* progress = std::get_if<ImportProgress>(&parsed.value())) {
      {
        const std::lock_guard lock(mutex_);
        unsettled_.NoteProgress(*progress);
        conditions_ = progress->conditions;
      }
      if (progress->lines > std::exchange(lines_, progress->lines)) NoteThatItGoesOn();
      done_ = done_ || progress->done;
      Settle();
    } else {
      error_ = std::get<ImportError>(parsed.value());
    }
  }

  void OnClosed(int status, const std::string& words) override {
    upload_.reset();
    idle_.reset();
    if (status != 0 && status != 200) return OnRefused(status, ErrorOf(words));
    if (!error_.message.empty()) return OnError("cannot go on: ", error_);
    if (!done_) return Retry("does not answer: " + (words.empty() ? "it hung up" : words));
    bool left = false;
    {
      const std::lock_guard lock(mutex_);
      left = unsettled_.any_sent();
    }
    if (left) return Retry("does not answer for all lines that it was sent");
    Kick();
  }

  void OnRefused(int status, const ImportError& error) {
    const std::string code = "(HTTP " + std::to_string(status) + "): ";
    // Of a relay that has been started anew meanwhile.
    const bool old_token = (status == 401 || status == 403) && token_ != TokenNow();
    if (status >= 500 || status == 408 || status == 429 || old_token) return OnError("cannot go on " + code, error);
    Fail(Describe() + " refuses " + code + error.message);
  }

  void OnError(const std::string& what, const ImportError& error) {
    if (error.lasting) return Fail(Describe() + " " + what + error.message);
    Retry(what + error.message);
  }

  std::string TokenNow() const { return address_.token ? address_.token() : std::string(); }

  void Fail(std::string message) {
    const std::lock_guard lock(mutex_);
    failure_ = Status::Error(std::move(message));
    changed_.notify_all();
  }

  void Retry(const std::string& why) {
    const std::string problem = "the relay at " + address_.url + " " + why;
    {
      const std::lock_guard lock(mutex_);
      conditions_.problem = problem;
    }
    if (std::exchange(told_problem_, problem) != problem) spdlog::warn("{}; trying again until it goes on", problem);
    ++retries_;
    retry_.emplace(io_, std::min<Duration>(retries_ * times_.first_retry, times_.longest_retry));
    retry_->async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      retry_.reset();
      Kick();
    });
  }

  void NoteThatItGoesOn() {
    retries_ = 0;
    if (!std::exchange(told_problem_, {}).empty()) spdlog::info("the relay at {} goes on", address_.url);
  }

  // Tells what can be told, in order.
  void Settle() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      std::optional<SettledChunk> settled = unsettled_.TakeSettled();
      if (!settled) return;
      lock.unlock();
      on_settled_(*std::move(settled));
      lock.lock();
      --open_;
      changed_.notify_all();
    }
  }

  const RelayAddress address_;
  const HttpUrl url_;
  const std::string target_;
  const RelayDestinationTimes times_;
  const OnSettled on_settled_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Unsettled unsettled_;
  uint64_t open_ = 0;  // chunks that were pushed and not told yet
  bool finishing_ = false;
  bool stopped_ = false;
  Status failure_;
  ImportConditions conditions_;

  // Of the thread.
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::shared_ptr<RelayUpload> upload_;
  std::optional<asio::steady_timer> idle_;
  std::optional<asio::steady_timer> retry_;
  bool has_room_ = false;
  bool body_ended_ = false;
  bool done_ = false;
  ImportError error_;
  uint64_t lines_ = 0;  // of the body, that are settled
  std::string token_;   // that it was begun with
  std::string told_problem_;
  int retries_ = 0;

  std::thread thread_;  // last: it uses the others
};

}  // namespace

Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times) {
  Result<HttpUrl> url = ParseHttpUrl(address.url);
  if (!url.ok()) return url.status();
  return std::unique_ptr<Destination>(
      new RelayDestination(address, std::move(url).value(), options, std::move(on_settled), times));
}

Result<std::unique_ptr<Destination>> OpenRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled) {
  return MakeRelayDestination(address, options, std::move(on_settled), {});
}

}  // namespace weir
