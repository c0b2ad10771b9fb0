// TurnQueue: keeps the tasks that Beast posts while WebSocketStage reads a piece of input. WebSocketStage itself runs
// them, within the same turn of the session; the io_context does not. With messages of 590 bytes, 16 in flight, posting
// to the io_context would cost 0.3 µs for each message, and output would be sent between two messages of one piece.
#pragma once

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

// Not thread-safe.
class TurnQueue {
 public:
  // Push calls `wake` when a task enters an empty queue; `wake` must make sure that RunOne is called soon. `context` is
  // only the execution context that an Asio executor must have; the queue posts no tasks to it.
  TurnQueue(boost::asio::execution_context& context, std::function<void()> wake)
      : context_(context), wake_(std::move(wake)) {}

  boost::asio::execution_context& context() const { return context_; }

  // Adds a task at the end of the queue.
  template <typename Function>
  void Push(Function&& function) {
    tasks_.push_back(std::make_unique<TaskOf<std::decay_t<Function>>>(std::forward<Function>(function)));
    if (tasks_.size() == 1) wake_();
  }

  // Runs the first task. Returns false if there is no task. A task may push other tasks.
  bool RunOne() {
    if (next_ == tasks_.size()) return false;
    const std::unique_ptr<Task> task = std::move(tasks_[next_++]);
    if (next_ == tasks_.size()) {
      tasks_.clear();
      next_ = 0;
    }
    task->Run();
    return true;
  }

  // Drops all tasks without running them.
  void Clear() {
    tasks_.clear();
    next_ = 0;
  }

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void Run() = 0;
  };
  template <typename Function>
  struct TaskOf final : Task {
    template <typename From>
    explicit TaskOf(From&& from) : function(std::forward<From>(from)) {}
    void Run() override { std::move(function)(); }
    Function function;
  };

  boost::asio::execution_context& context_;
  const std::function<void()> wake_;
  std::vector<std::unique_ptr<Task>> tasks_;
  size_t next_ = 0;  // the first task that has not run
};

// TurnExecutor: an Asio executor that pushes functions to a TurnQueue. The queue must outlive the operations that use
// the executor.
class TurnExecutor {
 public:
  explicit TurnExecutor(TurnQueue* queue) : queue_(queue) {}

  template <typename Function>
  void execute(Function&& function) const {
    queue_->Push(std::forward<Function>(function));
  }

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept { return queue_->context(); }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }

  bool operator==(const TurnExecutor&) const noexcept = default;

 private:
  TurnQueue* queue_;
};

}  // namespace weir
