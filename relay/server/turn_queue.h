// The tasks that Beast posts while a piece is read. The loop that reads the piece runs them in the same turn of the I/O
// thread, not the io_context. Measured, 590-byte messages, 16 in flight: a post to the io_context for each message
// costs 0.3 µs, and it lets the flush come between two messages of one piece.
#pragma once

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

// One thread only.
class TurnQueue {
 public:
  // `wake` is called when a task comes to an empty queue; it must see to it that RunOne is called soon.
  TurnQueue(boost::asio::execution_context& context, std::function<void()> wake)
      : context_(context), wake_(std::move(wake)) {}

  boost::asio::execution_context& context() const { return context_; }

  template <typename Function>
  void Push(Function&& function) {
    tasks_.push_back(std::make_unique<TaskOf<std::decay_t<Function>>>(std::forward<Function>(function)));
    if (tasks_.size() == 1) wake_();
  }

  // Returns false if there is none.
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
  size_t next_ = 0;
};

// An Asio executor on a TurnQueue, which must outlive the operations that carry it.
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
