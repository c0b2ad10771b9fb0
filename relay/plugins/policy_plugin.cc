#include "relay/plugins/policy_plugin.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sstream>
#include <utility>

namespace weir {
namespace {

constexpr Duration kShortestPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// How often the files of the command are looked at.
constexpr std::chrono::milliseconds kBetweenLooks{1000};
// The longest time for a process to end by itself after the end of its input: of one that was replaced, and of all when
// the plugin stops.
constexpr Duration kLongestGoodbye = std::chrono::seconds(5);
constexpr Duration kLongestStop = std::chrono::seconds(2);
// A process that answers nothing for this many time-outs is killed, and so is one that lets so many questions go.
constexpr int kSilentTimeouts = 3;
constexpr size_t kMostOverdue = 10'000;
// Bytes of one read: as many as a pipe holds.
constexpr size_t kReadBytes = 64 << 10;
constexpr const char* kStopping = "error: the relay is shutting down";

// Returns the pause after the given number of failures in a row.
Duration PauseAfter(unsigned failures) {
  Duration pause = kShortestPause;
  for (unsigned n = 1; n < failures && pause < kLongestPause; ++n) pause *= 2;
  return std::min(pause, kLongestPause);
}

}  // namespace

PolicyPlugin::PolicyPlugin(PolicyPluginOptions options)
    : options_(std::move(options)),
      health_(options_.name + " plugin", options_.clock),
      wakes_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      slots_(options_.command.processes),
      files_([this] { return Files(); }),
      buffer_(kReadBytes) {}

Result<std::unique_ptr<PolicyPlugin>> PolicyPlugin::Start(PolicyPluginOptions options) {
  std::unique_ptr<PolicyPlugin> plugin(new PolicyPlugin(std::move(options)));
  const Status status = plugin->Begin();
  if (!status.ok()) return Status::Error("the " + plugin->health_.name() + ": " + status.message());
  return plugin;
}

Status PolicyPlugin::Begin() {
  if (!wakes_.is_open()) return Status::Error("this process may have no more descriptors");
  Status failed;
  files_.ReadWhole([&] {
    for (Slot& slot : slots_) {
      Result<std::unique_ptr<PluginRunner>> runner = StartRunner();
      if (!runner.ok()) failed = runner.status();
      if (runner.ok()) slot.runner = std::move(runner).value();
    }
  });
  if (!failed.ok()) return failed;
  const MutexLock lock(stop_mutex_);
  thread_ = std::thread([this] { Run(); });
  return Status();
}

Result<std::unique_ptr<PolicyPlugin>> PolicyPlugin::StartForWrites(const PluginSettings& settings) {
  if (settings.write.command.empty()) return std::unique_ptr<PolicyPlugin>();
  return Start(
      {.name = "write", .command = settings.write, .timeout = settings.timeout, .on_failure = settings.on_failure});
}

Result<std::unique_ptr<PolicyPlugin>> PolicyPlugin::StartForReads(const PluginSettings& settings) {
  if (settings.read.command.empty()) return std::unique_ptr<PolicyPlugin>();
  return Start(
      {.name = "read", .command = settings.read, .timeout = settings.timeout, .on_failure = settings.on_failure});
}

PolicyPlugin::~PolicyPlugin() { Stop(); }

void PolicyPlugin::Ask(PluginQuestion question, OnPluginVerdict settled) {
  asked_so_far_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    return Fail({std::move(settled)}, kStopping);
  }
  asked_.push_back({std::move(question), std::move(settled), options_.clock.Now()});
  const bool sleeps = asked_.size() == 1;
  lock.unlock();
  if (sleeps) Nudge();
}

void PolicyPlugin::Wake() {
  looks_ = true;
  Nudge();
}

// Ends the wait of the thread.
void PolicyPlugin::Nudge() {
  const uint64_t one = 1;
  while (::write(wakes_.number(), &one, sizeof one) < 0 && errno == EINTR) continue;
}

void PolicyPlugin::StopSoon() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
}

void PolicyPlugin::Stop() {
  const MutexLock one(stop_mutex_);
  StopSoon();
  if (thread_.joinable()) thread_.join();
}

PluginStats PolicyPlugin::Stats() const {
  const uint64_t asked = asked_so_far_;
  PluginStats stats = health_.Stats();
  uint64_t settled = stats.unanswered;
  for (const uint64_t answers : stats.answers) settled += answers;
  stats.under_way = asked - std::min(settled, asked);
  return stats;
}

std::string PolicyPlugin::Trouble() const {
  if (!health_.fails()) return "";
  const std::string what = options_.name == "read" ? "requests" : "events";
  return "the " + health_.name() + " does not answer, so " + what + " are " +
         (options_.on_failure == PluginFailure::kRefuse ? "refused" : "accepted without it") + ": the log says more";
}

// Returns the words of the command that are files: "python3 /etc/weir/plugin.py" has one.
std::vector<std::string> PolicyPlugin::Files() const {
  std::istringstream words(options_.command.command);
  std::vector<std::string> files;
  for (std::string word; words >> word;) {
    struct stat file {};
    if (stat(word.c_str(), &file) == 0 && S_ISREG(file.st_mode)) files.push_back(word);
  }
  return files;
}

Result<std::unique_ptr<PluginRunner>> PolicyPlugin::StartRunner() {
  Result<PluginProcess> process = options_.start(options_.command.command);
  if (!process.ok()) return process.status();
  health_.NoteStart();
  return std::make_unique<PluginRunner>(std::move(process).value(), health_);
}

void PolicyPlugin::Run() {
  // A write to a process that has ended is an error, not a signal.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  while (TakeAsked()) {
    const TimePoint now = options_.clock.Now();
    KeepProcesses(now);
    // A program that reads as fast as this thread writes would keep it here, so new questions join those that wait.
    do {
      PassOn(now);
      for (const Slot& slot : slots_)
        if (slot.runner) slot.runner->Write();
    } while (!waiting_.empty() && SlotWithRoom() && TakeAsked());
    for (const auto& runner : replaced_) runner->Write();
    WaitAndRead();
  }
  EndAll();
}

// Returns false once the plugin stops.
bool PolicyPlugin::TakeAsked() {
  std::vector<PendingQuestion> asked;
  bool stops = false;
  {
    const MutexLock lock(mutex_);
    asked.swap(asked_);
    stops = stopping_;
  }
  for (PendingQuestion& question : asked) waiting_.Push(std::move(question));
  return !stops;
}

void PolicyPlugin::KeepProcesses(TimePoint now) {
  LookAtFiles(now);
  for (Slot& slot : slots_) {
    if (slot.runner) {
      FailOverdue(slot.runner->dialogue().TakeAskedUntil(now - options_.timeout));
      if (IsSilent(*slot.runner, now)) OnEnded(slot, "owes answers, has given none for long, and", now);
    }
    if (slot.runner || now < slot.start_at) continue;
    Result<std::unique_ptr<PluginRunner>> runner = StartRunner();
    if (runner.ok()) {
      slot.runner = std::move(runner).value();
    } else {
      NoteFailed(slot, PluginFault::kStart, "cannot be started: " + runner.status().message(), now);
    }
  }
  for (const auto& runner : replaced_) {
    FailOverdue(runner->dialogue().TakeAskedUntil(now - options_.timeout));
    if (runner->dialogue().owed() == 0) runner->CloseInput(now);
  }
  std::erase_if(replaced_, [&](const std::unique_ptr<PluginRunner>& runner) {
    const bool lingers = runner->input_closed() && now - *runner->input_closed() > kLongestGoodbye;
    if (!lingers && !IsSilent(*runner, now)) return false;
    Fail(runner->dialogue().TakeAll(), NoAnswer());
    return true;
  });
  health_.NoteProcesses(
      static_cast<uint64_t>(std::ranges::count_if(slots_, [](const Slot& slot) { return slot.runner != nullptr; })));
}

void PolicyPlugin::LookAtFiles(TimePoint now) {
  if (!looks_.exchange(false) && now < look_at_) return;
  look_at_ = now + kBetweenLooks;
  if (files_.Look()) files_.ReadWhole([this, now] { Replace(now); });
}

// Starts a new process for each slot. If that fails, the old one stays.
void PolicyPlugin::Replace(TimePoint now) {
  spdlog::info("the program of the {} has changed; its processes are replaced", health_.name());
  for (Slot& slot : slots_) {
    Result<std::unique_ptr<PluginRunner>> runner = StartRunner();
    if (!runner.ok()) {
      health_.NoteFault(PluginFault::kStart, "cannot be started anew: " + runner.status().message());
      continue;
    }
    if (slot.runner) replaced_.push_back(std::move(slot.runner));
    slot = {.runner = std::move(runner).value(), .failures = 0, .start_at = now};
  }
}

void PolicyPlugin::NoteFailed(Slot& slot, PluginFault fault, const std::string& what, TimePoint now) {
  health_.NoteFault(fault, what);
  slot.start_at = now + PauseAfter(++slot.failures);
}

// Gives the waiting questions to processes. If none runs, they wait for the restart of one that has failed only once. A
// question keeps its time when its process ends, so a program that ends again and again does not make it wait for long.
void PolicyPlugin::PassOn(TimePoint now) {
  const bool hopeful = std::ranges::any_of(slots_, [](const Slot& slot) { return slot.runner || slot.failures < 2; });
  FailOverdue(waiting_.TakeAskedUntil(now - options_.timeout));
  if (!hopeful) Fail(waiting_.TakeAskedUntil(TimePoint::max()), NoAnswer());
  while (!waiting_.empty()) {
    Slot* const slot = SlotWithRoom();
    if (!slot) break;
    slot->runner->dialogue().Ask(waiting_.Pop());
  }
}

// Returns the slot that owes the fewest answers among those whose processes should be given more questions; null if
// there is none.
PolicyPlugin::Slot* PolicyPlugin::SlotWithRoom() {
  Slot* least = nullptr;
  for (Slot& slot : slots_) {
    if (!slot.runner || !slot.runner->dialogue().has_room()) continue;
    if (!least || slot.runner->dialogue().owed() < least->runner->dialogue().owed()) least = &slot;
  }
  return least;
}

void PolicyPlugin::WaitAndRead() {
  polled_.clear();
  polled_.push_back({.fd = wakes_.number(), .events = POLLIN, .revents = 0});
  for (const Slot& slot : slots_)
    if (slot.runner) slot.runner->AppendTo(&polled_);
  for (const auto& runner : replaced_) runner->AppendTo(&polled_);
  if (::poll(polled_.data(), polled_.size(), MillisecondsToWait(options_.clock.Now())) <= 0) return;
  uint64_t wakes = 0;
  (void)!::read(wakes_.number(), &wakes, sizeof wakes);
  const TimePoint now = options_.clock.Now();
  std::span<const pollfd> polled = std::span(polled_).subspan(1);
  const auto goes_on = [&](PluginRunner& runner) {
    const std::span<const pollfd> own = polled.first(PluginRunner::kPolled);
    polled = polled.subspan(PluginRunner::kPolled);
    return runner.Read(own, buffer_, now);
  };
  for (Slot& slot : slots_)
    if (slot.runner && !goes_on(*slot.runner)) OnEnded(slot, slot.runner->WhyOver(), now);
  std::erase_if(replaced_, [&](const std::unique_ptr<PluginRunner>& runner) {
    if (goes_on(*runner)) return false;
    Fail(runner->dialogue().TakeAll(), NoAnswer());
    return true;
  });
}

// Returns the time until the next thing to do, for poll().
int PolicyPlugin::MillisecondsToWait(TimePoint now) const {
  TimePoint next = look_at_;
  const auto consider = [&](TimePoint asked) {
    if (asked != TimePoint::max()) next = std::min(next, asked + options_.timeout);
  };
  for (const Slot& slot : slots_) {
    if (slot.runner) consider(slot.runner->dialogue().oldest());
    if (!slot.runner) next = std::min(next, slot.start_at);
  }
  for (const auto& runner : replaced_) consider(runner->dialogue().oldest());
  consider(waiting_.oldest());
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  return static_cast<int>(std::clamp<int64_t>(wait.count(), 0, kBetweenLooks.count()));
}

// `why` says why the process is killed; empty if it has ended by itself.
void PolicyPlugin::OnEnded(Slot& slot, const std::string& why, TimePoint now) {
  const std::unique_ptr<PluginRunner> runner = std::move(slot.runner);
  PluginDialogue& dialogue = runner->dialogue();
  for (PendingQuestion& question : dialogue.TakeUnsent()) waiting_.Push(std::move(question));
  if (dialogue.answers() > 0) slot.failures = 0;
  NoteFailed(slot, PluginFault::kEnded, (why.empty() ? why : why + " ") + runner->End(), now);
  Fail(dialogue.TakeAll(), NoAnswer());
}

void PolicyPlugin::FailOverdue(std::vector<OnPluginVerdict> overdue) {
  for (size_t n = 0; n < overdue.size(); ++n) {
    health_.NoteFault(PluginFault::kTimeout,
                      "has not answered a question within " + std::to_string(options_.timeout.count()) + " ms");
  }
  Fail(std::move(overdue), NoAnswer());
}

bool PolicyPlugin::IsSilent(const PluginRunner& runner, TimePoint now) const {
  const TimePoint since = runner.dialogue().silent_since();
  return runner.dialogue().overdue() >= kMostOverdue ||
         (since != TimePoint::max() && now - since >= kSilentTimeouts * options_.timeout);
}

// The wait is by the system's clock, because the processes take real time.
void PolicyPlugin::EndAll() {
  std::vector<std::unique_ptr<PluginRunner>> runners = std::move(replaced_);
  for (Slot& slot : slots_)
    if (slot.runner) runners.push_back(std::move(slot.runner));
  for (const auto& runner : runners) {
    Fail(runner->dialogue().TakeAll(), kStopping);
    runner->CloseInput(options_.clock.Now());
  }
  Fail(waiting_.TakeAskedUntil(TimePoint::max()), kStopping);
  const TimePoint end = Clock::System().Now() + kLongestStop;
  for (const auto& runner : runners) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::System().Now());
    runner->WaitForEnd(std::max(left, std::chrono::milliseconds(0)));
  }
  health_.NoteProcesses(0);
}

std::string PolicyPlugin::NoAnswer() const {
  return "error: the " + health_.name() + " of this relay gave no answer; try again later";
}

void PolicyPlugin::Fail(std::vector<OnPluginVerdict> settled, const std::string& why) {
  PluginVerdict verdict{.action = PluginAction::kAccept, .refusal = {}, .answered = false};
  if (options_.on_failure == PluginFailure::kRefuse || why == kStopping) {
    verdict.action = PluginAction::kReject;
    verdict.refusal = why;
  }
  for (const OnPluginVerdict& one : settled) {
    health_.NoteUnanswered();
    Settle(one, verdict);
  }
}

}  // namespace weir
