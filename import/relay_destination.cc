#include "import/relay_destination.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <exception>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/text/parse.h"
#include "import/relay_part.h"
#include "import/relay_post.h"
#include "import/serve/import_answer.h"
#include "relay/process/http_error_words.h"

namespace weir {
namespace {

namespace asio = boost::asio;

constexpr uint64_t kWindowBytes = 16 << 20;
// The relay saves the lines of one POST and judges those of the next, while the third is on its way.
constexpr size_t kMostPosts = 3;

struct Part {
  Chunk chunk;
  uint64_t weight = 0;
  std::optional<SettledChunk> settled;
};

// The lines of an answer that have arrived so far.
struct Told {
  std::vector<ImportReject> rejects;
  std::optional<ImportProgress> progress;  // the latest progress
  ImportError error;                       // no error if its message is empty
  Status bad;                              // the error if a line is none that a relay writes

  void Take(std::string_view line) {
    Result<ImportAnswerLine> parsed = ParseAnswerLine(line);
    if (!parsed.ok()) {
      if (bad.ok()) bad = parsed.status();
    } else if (auto* reject = std::get_if<ImportReject>(&parsed.value())) {
      rejects.push_back(std::move(*reject));
    } else if (auto* now = std::get_if<ImportProgress>(&parsed.value())) {
      progress = std::move(*now);
    } else {
      error = std::get<ImportError>(std::move(parsed).value());
    }
  }
};

// Returns the error in the body of a refusal. The body is either lines of an answer or plain text.
ImportError ErrorOf(const std::string& body) {
  Told told;
  for (std::string_view rest = body; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    told.Take(line);
  }
  if (!told.error.message.empty()) return told.error;
  return {.message = ErrorWordsIn(TrimBlanks(body))};
}

class RelayDestination final : public Destination {
 public:
  RelayDestination(const RelayAddress& address, ServerUrl url, const DestinationOptions& options, OnSettled on_settled,
                   const RelayDestinationTimes& times)
      : address_(address),
        url_(std::move(url)),
        verify_(options.judge.verify),
        times_(times),
        on_settled_(std::move(on_settled)),
        judge_(options.judge, nullptr, WallClock::System()),
        thread_([this] { io_.run(); }) {}

  ~RelayDestination() override {
    Stop();
    io_.stop();
    thread_.join();
  }

  bool Push(Chunk chunk) override {
    {
      MutexLock lock(mutex_);
      changed_.wait(lock,
                    [this]() WEIR_REQUIRES(mutex_) { return weight_ < kWindowBytes || stopped_ || !failure_.ok(); });
      if (stopped_ || !failure_.ok()) return false;
      Add(std::move(chunk));
    }
    KickSoon();
    return true;
  }

  Status Finish() override {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return parts_.empty() || stopped_ || !failure_.ok(); });
    if (!failure_.ok()) return failure_;
    return parts_.empty() ? Status() : Status::Error("stopped");
  }

  void Stop() override {
    {
      const MutexLock lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    KickSoon();
  }

  ImportConditions Conditions() const override {
    const MutexLock lock(mutex_);
    return conditions_;
  }

  std::string Describe() const override {
    std::string text = "the relay at " + address_.url;
    if (!address_.holder.empty()) text += " (" + address_.holder.substr(0, address_.holder.find(" (")) + ")";
    return text;
  }

 private:
  // Adds a chunk to the last part if that part is not sent yet, or else to a new part.
  void Add(Chunk chunk) WEIR_REQUIRES(mutex_) {
    const uint64_t weight = WeightOf(chunk);
    weight_ += weight;
    if (next_ < parts_.size() && !parts_.back().settled && Join(chunk, &parts_.back().chunk)) {
      parts_.back().weight += weight;
      return;
    }
    Part& part = parts_.emplace_back();
    part.weight = weight;
    if (chunk.kind == Chunk::Kind::kTooLong) {
      part.settled = judge_.Judge(std::move(chunk)).settled;
    } else {
      part.chunk = std::move(chunk);
    }
  }

  void KickSoon() {
    asio::post(io_, [this] { Kick(); });
  }

  // Reports settled parts, and sends the next part if that is possible now.
  void Kick() {
    Settle();
    if (Ended()) {
      GiveUpPosts();
      retry_.reset();
      return;
    }
    // The relay needs the POSTs in their order. So each POST is sent when the relay has begun to read the one before.
    if (retry_ || taking_ || sockets_.size() >= kMostPosts) return;
    Part* const part = NextPart();
    if (part == nullptr) return;
    taking_ = true;
    asio::co_spawn(io_, Bring(*part), [](const std::exception_ptr& fault) {
      if (fault) std::rethrow_exception(fault);
    });
  }

  bool Ended() const {
    const MutexLock lock(mutex_);
    return stopped_ || !failure_.ok();
  }

  // Returns the next part to send, or null. Skips lines that are too long, which are settled without being sent. A part
  // stays in parts_ until it is reported.
  Part* NextPart() {
    const MutexLock lock(mutex_);
    while (next_ < parts_.size() && parts_[next_].settled) ++next_;
    return next_ < parts_.size() ? &parts_[next_++] : nullptr;
  }

  asio::awaitable<void> Bring(Part& part) {
    const uint64_t run = run_;
    const uint32_t number = sent_++;
    const Result<std::string> token = TokenNow();
    asio::ip::tcp::socket socket(io_);
    sockets_.push_back(&socket);
    Told told;
    RelayPost post;
    post.target = "/api/import?" + std::string(verify_ ? "" : "verify=false&") + "run=" + run_name_ + "-" +
                  std::to_string(run) + "&part=" + std::to_string(number);
    post.token = ValueOf(token);
    post.body = BodyOf(part.chunk);
    post.wanted = [this, run] { return run == run_; };
    post.on_taken = [this, run] {
      if (run != run_) return;
      taking_ = false;
      Kick();
    };
    post.on_line = [this, run, &told](std::string_view line) {
      told.Take(line);
      if (run == run_ && told.progress) NoteConditions(told.progress->conditions);
    };
    const RelayAnswer answer = co_await Send(socket, url_, post);
    // GiveUpPosts was called meanwhile, so another POST sends this part again.
    if (run != run_) co_return;
    std::erase(sockets_, &socket);
    OnAnswer(answer, number, token, &told, &part);
  }

  void OnAnswer(const RelayAnswer& answer, uint32_t number, const Result<std::string>& token, Told* told, Part* part) {
    // The relay was restarted, or the run had no POST for too long. Begins another run at once.
    if (answer.status == kConflict && number > 0 && !std::exchange(begins_anew_, true)) {
      GiveUpPosts();
      return Kick();
    }
    if (answer.status != 0 && answer.status != kOk) return OnRefused(answer.status, ErrorOf(answer.words), token);
    if (!told->error.message.empty()) return OnError("cannot go on: ", told->error);
    if (!told->bad.ok()) return Retry("does not answer as a relay does: " + told->bad.message());
    if (answer.status == 0 || !told->progress || !told->progress->done)
      return Retry("does not answer: " + (answer.words.empty() ? "it hung up" : answer.words));
    Result<SettledChunk> settled = weir::Settle(&part->chunk, *told->progress, std::move(told->rejects));
    if (!settled.ok()) return Retry(settled.status().message());
    {
      const MutexLock lock(mutex_);
      part->settled = std::move(settled).value();
    }
    NoteThatItGoesOn();
    Kick();
  }

  void OnRefused(int status, const ImportError& error, const Result<std::string>& token) {
    const std::string code = "(HTTP " + std::to_string(status) + "): ";
    // A relay that has been restarted meanwhile has another token.
    const bool not_allowed = status == 401 || status == 403;
    const bool old_token = not_allowed && ValueOf(token) != ValueOf(TokenNow());
    const bool passes = status >= 500 || status == 408 || status == kConflict || status == 429;
    if (passes || old_token) return OnError("cannot go on " + code, error);
    Fail(Describe() + " refuses " + code + error.message +
         (not_allowed && !token.ok() ? "; " + token.status().message() : ""));
  }

  void OnError(const std::string& what, const ImportError& error) {
    if (error.lasting) return Fail(Describe() + " " + what + error.message);
    Retry(what + error.message);
  }

  Result<std::string> TokenNow() const { return address_.token ? address_.token() : std::string(); }
  static std::string ValueOf(const Result<std::string>& token) { return token.ok() ? token.value() : ""; }

  void Fail(std::string message) {
    {
      const MutexLock lock(mutex_);
      failure_ = Status::Error(std::move(message));
      changed_.notify_all();
    }
    GiveUpPosts();
  }

  // Closes all POSTs. Kick then sends the parts that have no answer again, as another run.
  void GiveUpPosts() {
    {
      const MutexLock lock(mutex_);
      next_ = 0;
    }
    ++run_;
    sent_ = 0;
    taking_ = false;
    boost::system::error_code ignored;
    for (asio::ip::tcp::socket* const socket : std::exchange(sockets_, {})) socket->close(ignored);
  }

  void Retry(const std::string& why) {
    GiveUpPosts();
    const std::string problem = "the relay at " + address_.url + " " + why;
    {
      const MutexLock lock(mutex_);
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

  void NoteConditions(const ImportConditions& conditions) {
    const MutexLock lock(mutex_);
    conditions_ = conditions;
  }

  void NoteThatItGoesOn() {
    retries_ = 0;
    begins_anew_ = false;
    if (!std::exchange(told_problem_, {}).empty()) spdlog::info("the relay at {} goes on", address_.url);
  }

  // Reports the parts that are settled, in order.
  void Settle() {
    MutexLock lock(mutex_);
    while (!stopped_ && !parts_.empty() && parts_.front().settled) {
      SettledChunk settled = *std::move(parts_.front().settled);
      lock.unlock();
      on_settled_(std::move(settled));
      lock.lock();
      weight_ -= parts_.front().weight;
      parts_.pop_front();
      if (next_ > 0) --next_;
      changed_.notify_all();
    }
  }

  static constexpr int kOk = 200;
  static constexpr int kConflict = 409;

  const RelayAddress address_;
  const ServerUrl url_;
  const bool verify_;
  const RelayDestinationTimes times_;
  const OnSettled on_settled_;
  const std::string run_name_ = std::to_string(std::random_device()()) + "-" + std::to_string(std::random_device()());
  LineJudge judge_;  // used by Push

  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Part> parts_ WEIR_GUARDED_BY(mutex_);  // parts that are not reported yet
  size_t next_ WEIR_GUARDED_BY(mutex_) = 0;         // index of the first part that was not sent
  uint64_t weight_ WEIR_GUARDED_BY(mutex_) = 0;     // the weight of the parts
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  Status failure_ WEIR_GUARDED_BY(mutex_);
  ImportConditions conditions_ WEIR_GUARDED_BY(mutex_);

  // Used by thread_.
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::vector<asio::ip::tcp::socket*> sockets_;  // sockets of the POSTs that are open
  bool taking_ = false;                          // true while the relay has not begun to read the last POST
  uint64_t run_ = 0;
  uint32_t sent_ = 0;         // parts of this run that were sent
  bool begins_anew_ = false;  // true after a conflict, until a part is settled
  std::optional<asio::steady_timer> retry_;
  std::string told_problem_;
  int retries_ = 0;

  std::thread thread_;  // last: it uses the others
};

}  // namespace

Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times) {
  Result<ServerUrl> url = ParseServerUrl(address.url);
  if (!url.ok() || url.value().tls || !url.value().path.empty())
    return Status::Error(Printable(address.url) + " is no address of a relay: it has to be like http://127.0.0.1:3334");
  return std::unique_ptr<Destination>(
      new RelayDestination(address, std::move(url).value(), options, std::move(on_settled), times));
}

Result<std::unique_ptr<Destination>> OpenRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled) {
  return MakeRelayDestination(address, options, std::move(on_settled), {});
}

}  // namespace weir
