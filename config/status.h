// Status and Result: the errors that a user can cause, as return values. A Status is success, or a message that says
// what is wrong, where, and what to do. A Result<T> is a T or an error Status. Exceptions are for bugs and for
// constructors at start-up.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace weir {

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  static Status Error(std::string message) {
    Status status;
    status.message_ = std::move(message);
    return status;
  }

  bool ok() const { return !message_.has_value(); }

  // Returns the message of the error; empty on success.
  const std::string& message() const {
    static const std::string kNone;
    return message_ ? *message_ : kNone;
  }

 private:
  std::optional<std::string> message_;
};

namespace internal {
// Prints the message on standard error and aborts the process, because the use of a missing value would be undefined
// behaviour.
[[noreturn]] void StopWithoutValue(const Status& status);
}  // namespace internal

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    if (status_.ok()) [[unlikely]]
      status_ = Status::Error("a Result was made of a Status that is no error, and has no value");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }  // success if there is a value

  // Returns the value. Call it only if ok() is true: otherwise it prints the error and aborts the process.
  T& value() & { return Checked(value_); }
  const T& value() const& { return Checked(value_); }
  T&& value() && { return std::move(Checked(value_)); }

 private:
  template <typename Optional>
  auto& Checked(Optional& value) const {
    if (!value) [[unlikely]]
      internal::StopWithoutValue(status_);
    return *value;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace weir
