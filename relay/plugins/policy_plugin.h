// PolicyPlugin: a program of the operator that decides which events the relay takes, or which requests it answers
// (plugin_lines.h has its protocol). Runs one or more processes of the program, and asks the one that owes the fewest
// answers.
//
//   plugin->Ask(QuestionAbout(event, now, source), [](PluginVerdict verdict) { … });
//
// Client addresses take turns, so that one with many questions that take long does not use up the time of others. A
// process is given a question only if it has read nearly all that it was given before.
//
// Every question is settled once: by its answer, or by the operator's rule for failures (PluginFailure) if there is
// none. There is none if the time is over, the process ends, or no process runs. A slow answer delays no other answer,
// as long as the program itself reads on.
//
// Processes. One that ends is started again after a pause that grows from 0.1 s to 30 s while it ends without any
// answer. Questions that it was not sent yet go to another process; they also wait for its restart if it is the first
// in a row. They keep their time. A process that owes answers and gives none for three time-outs is killed and counts
// as ended, and so is one that closes its input or output. If a file of the command changes, each process is replaced:
// the new one gets all further questions, and the old one gets the end of its input when it owes no answer. If the new
// one cannot be started, the old one stays.
//
// A question's line lives until it is written or the question is settled (plugin_dialogue.h has an exception), so its
// bytes belong to the budget of the caller.
//
// Threads: any thread may call any function. The plugin's own thread calls the callbacks, which must be quick and must
// not call Stop. While the plugin stops or after that, Ask calls its callback itself.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "relay/observe/metrics/metric_families.h"
#include "relay/plugins/plugin_dialogue.h"
#include "relay/plugins/plugin_health.h"
#include "relay/plugins/plugin_process.h"
#include "relay/plugins/plugin_runner.h"
#include "relay/plugins/plugin_settings.h"
#include "relay/plugins/question_queue.h"
#include "relay/process/config_watch.h"

namespace weir {

struct PolicyPluginOptions {
  std::string name;  // "write" or "read", for messages and metrics
  PluginCommand command;
  std::chrono::milliseconds timeout{5000};
  PluginFailure on_failure = PluginFailure::kRefuse;
  const Clock& clock = Clock::System();
  std::function<Result<PluginProcess>(const std::string& command)> start = PluginProcess::Start;
};

class PolicyPlugin {
 public:
  // Starts the processes and the thread. Returns an error if the program cannot be run.
  static Result<std::unique_ptr<PolicyPlugin>> Start(PolicyPluginOptions options);
  // The two plugins that the settings describe; null if there is none, without an error.
  static Result<std::unique_ptr<PolicyPlugin>> StartForWrites(const PluginSettings& settings);
  static Result<std::unique_ptr<PolicyPlugin>> StartForReads(const PluginSettings& settings);
  // Calls Stop.
  ~PolicyPlugin();

  void Ask(PluginQuestion question, OnPluginVerdict settled);
  // Begins to stop, and returns at once: the thread refuses the questions under way, and Ask refuses further ones.
  void StopSoon();
  // Calls StopSoon, closes the inputs of all processes, waits at most two seconds for their end, and kills those that
  // still run. A second call does nothing.
  void Stop();

  PluginStats Stats() const;
  const std::string& name() const { return options_.name; }
  // Returns a sentence if the last question had no answer; empty if it had one.
  std::string Trouble() const;
  // Makes the thread look at the clock and at the command's files at once. For clocks that a test moves.
  void Wake();

 private:
  // A place for a process that takes questions.
  struct Slot {
    std::unique_ptr<PluginRunner> runner;  // null while no process runs
    unsigned failures = 0;                 // ends and failed starts in a row, without an answer
    TimePoint start_at{};                  // when to start a process, if none runs
  };

  explicit PolicyPlugin(PolicyPluginOptions options);
  Status Begin();
  std::vector<std::string> Files() const;
  Result<std::unique_ptr<PluginRunner>> StartRunner();
  void Nudge();

  // These run on the thread.
  void Run();
  bool TakeAsked();
  void KeepProcesses(TimePoint now);
  void LookAtFiles(TimePoint now);
  void Replace(TimePoint now);
  void NoteFailed(Slot& slot, PluginFault fault, const std::string& what, TimePoint now);
  void PassOn(TimePoint now);
  Slot* SlotWithRoom();
  void WaitAndRead();
  int MillisecondsToWait(TimePoint now) const;
  void OnEnded(Slot& slot, const std::string& why, TimePoint now);
  void FailOverdue(std::vector<OnPluginVerdict> overdue);
  bool IsSilent(const PluginRunner& runner, TimePoint now) const;
  void EndAll();
  std::string NoAnswer() const;
  void Fail(std::vector<OnPluginVerdict> settled, const std::string& why);

  const PolicyPluginOptions options_;
  PluginHealth health_;
  std::atomic<uint64_t> asked_so_far_{0};
  Descriptor wakes_;  // an eventfd

  // The thread's own.
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<PluginRunner>> replaced_;  // they get no further question
  QuestionQueue waiting_;                                // questions that no process was given
  FileWatch files_;
  TimePoint look_at_{};  // when to look at the files
  std::vector<char> buffer_;
  std::vector<pollfd> polled_;

  Mutex mutex_;
  std::vector<PendingQuestion> asked_ WEIR_GUARDED_BY(mutex_);  // questions that the thread has not seen yet
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::atomic<bool> looks_{false};  // true if Wake was called
  Mutex stop_mutex_;                // one Stop at a time
  std::thread thread_ WEIR_GUARDED_BY(stop_mutex_);
};

// Adds the metrics of the plugins.
void AppendPluginMetrics(const std::vector<PolicyPlugin*>& plugins, MetricFamilies& families);

}  // namespace weir
