// The way of a deferred answer (http.h) from whoever has it to the connection that waits for it.
//
// A stage has one AnswerDesk for all its requests, one of which at a time may be owed its answer. Replies share the
// desk and outlive the stage, the session and the server; the desk knows its session only while the stage is there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "relay/server/http.h"

namespace weir {

class Session;

class AnswerDesk : public std::enable_shared_from_this<AnswerDesk> {
 public:
  // The session is processed (OnInput) when an answer has come.
  explicit AnswerDesk(Session& session) : session_(&session) {}

  // For the I/O thread. An answer that is given between Expect and Defer is returned by Defer, and costs no post.
  HttpReply Expect();
  std::optional<HttpResponse> Defer();
  // The answer that was waited for, once.
  std::optional<HttpResponse> Take();
  // What is expected is wanted no longer.
  void Forget();
  // The client sends nothing more: it may be gone.
  void HangUp();
  // Nothing is wanted any more: the session is about to go.
  void Leave();

 private:
  class Owed;
  // From any thread.
  void Give(uint64_t number, HttpResponse response);
  bool Abandoned(uint64_t number) const;

  mutable std::mutex mutex_;
  Session* session_;  // null once the stage has ended
  uint64_t number_ = 0;
  bool deferred_ = false;
  bool hung_up_ = false;
  std::optional<HttpResponse> answer_;
};

}  // namespace weir
