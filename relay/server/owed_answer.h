// Brings deferred answers (http.h) from the code that has them to the connection that waits for them.
//
// A stage has one AnswerDesk for all its requests, any number of which may wait for their answers. Replies share the
// desk and outlive the stage, the session and the server; the desk knows its session only while the stage is there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "relay/server/http.h"

namespace weir {

class Session;

class AnswerDesk : public std::enable_shared_from_this<AnswerDesk> {
 public:
  // The session is processed (OnInput) when answers have come: once for all that come until it takes them.
  explicit AnswerDesk(Session& session) : session_(&session) {}

  // The functions from here to the second Leave are for the I/O thread.
  // Returns the answer to a request, or nullopt if it comes later. `number` is the stage's for this request alone.
  std::optional<HttpResponse> Ask(const HttpRouter& router, HttpRequest& request, uint64_t number);
  // An answer that has come. Take returns each once.
  struct Answer {
    uint64_t number;
    HttpResponse response;
  };
  std::vector<Answer> Take();
  // The client does not want this answer any more.
  void Leave(uint64_t number);
  // The client sends nothing more: it may be gone.
  void HangUp();
  // Calls the handlers of those requests that have one (HttpReply::OnLeft).
  void Tell(HttpLeft why);
  bool is_to_be_told() const;
  // No answer is wanted any more: the session is about to go.
  void Leave();

 private:
  class Owed;
  // An answer that is given between Expect and Defer is returned by Defer, and costs no post.
  HttpReply Expect(uint64_t number);
  std::optional<HttpResponse> Defer();
  HttpReply::LeftHandler Forget(uint64_t number);
  // Called from any thread.
  void Give(uint64_t number, HttpResponse response);
  bool Abandoned(uint64_t number) const;
  void OnLeft(const Owed& owed, HttpReply::LeftHandler handler);
  std::optional<HttpLeft> WhyLeft() const;

  mutable std::mutex mutex_;
  Session* session_;                                           // null once the stage has ended
  std::unordered_map<uint64_t, HttpReply::LeftHandler> owed_;  // empty: OnLeft was not called
  std::optional<uint64_t> asked_;                              // by Expect, until Defer
  std::optional<HttpResponse> at_once_;
  std::vector<Answer> answers_;
  bool hung_up_ = false;
};

}  // namespace weir
