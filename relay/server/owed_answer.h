// The way of deferred answers (http.h) from whoever has them to the connection that waits for them.
//
// A stage has one AnswerDesk for all its requests, of which any number may be owed their answers. Replies share the
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

  // All for the I/O thread.
  // The answer to a request, or nothing where it comes later. `number` is the stage's for this request alone.
  std::optional<HttpResponse> Ask(const HttpRouter& router, HttpRequest& request, uint64_t number);
  // The answers that have come, each once.
  struct Answer {
    uint64_t number;
    HttpResponse response;
  };
  std::vector<Answer> Take();
  // The client does not want this one any more.
  void Leave(uint64_t number);
  // The client sends nothing more: it may be gone.
  void HangUp();
  // Whoever asked to be told is told.
  void Tell(HttpLeft why);
  bool is_to_be_told() const;
  // Nothing is wanted any more: the session is about to go.
  void Leave();

 private:
  class Owed;
  // An answer that is given between the two is returned by the second, and costs no post.
  HttpReply Expect(uint64_t number);
  std::optional<HttpResponse> Defer();
  HttpReply::LeftHandler Forget(uint64_t number);
  // From any thread.
  void Give(uint64_t number, HttpResponse response);
  bool Abandoned(uint64_t number) const;
  void OnLeft(const Owed& owed, HttpReply::LeftHandler handler);
  std::optional<HttpLeft> WhyLeft() const;

  mutable std::mutex mutex_;
  Session* session_;                                           // null once the stage has ended
  std::unordered_map<uint64_t, HttpReply::LeftHandler> owed_;  // empty: nobody asked to be told
  std::optional<uint64_t> asked_;                              // by Expect, until Defer
  std::optional<HttpResponse> at_once_;
  std::vector<Answer> answers_;
  bool hung_up_ = false;
};

}  // namespace weir
