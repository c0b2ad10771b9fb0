// AnswerDesk: passes an answer that a handler gives later (HttpReply in http.h) to the connection that waits for it.
//
// A stage (stage.h) has one desk for all its requests, any number of which may wait. The stage and all HttpReply
// objects share ownership of the desk; replies may outlive the stage, the session and the server. The desk has a
// pointer to its session only while the stage exists.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "config/mutex.h"
#include "relay/net/http.h"

namespace weir {

class Session;

class AnswerDesk : public std::enable_shared_from_this<AnswerDesk> {
 public:
  // The desk calls Session::ProcessSoon when an answer has come, but only once until the next Take. If memory runs out,
  // it does not, so the stage must also check has_answers from time to time.
  explicit AnswerDesk(Session& session) : session_(&session) {}

  // The stage calls the public functions, on the I/O thread.

  // Calls the handler of a request. Returns the answer, or nullopt if the handler gives the answer later. `number`
  // identifies the request; the stage uses each number once. If the handler throws, the answer is 500.
  std::optional<HttpResponse> Ask(const HttpRouter& router, HttpRequest& request, uint64_t number);
  // An answer that a handler gave later, with the number of its request.
  struct Answer {
    uint64_t number = 0;
    HttpResponse response;
  };
  // Returns the answers that have come since the last call. If memory runs out, throws, and the answers are lost.
  std::list<Answer> Take();
  // Returns true if Take would return an answer.
  bool has_answers() const;
  // Called when the client no longer wants the answer `number`. Calls the handler that HttpReply::OnLeft has set for
  // it.
  void Leave(uint64_t number);
  // Called when the client has closed its sending half and may be gone. Calls the handlers that HttpReply::OnLeft has
  // set. Handlers may still give answers, and Take still returns them.
  void HangUp();
  // Calls the handlers that HttpReply::OnLeft has set, each at most once.
  void Tell(HttpLeft why);
  // Returns true if HttpReply::OnLeft has set a handler that was not called yet.
  bool is_to_be_told() const;
  // Called when the stage ends. Calls the handlers that HttpReply::OnLeft has set. From now on drops all answers.
  void Leave();

 private:
  class Owed;
  // Ask calls Expect, the handler, and Defer. Defer returns the answer if the handler gave it at once; this saves a
  // post.
  HttpReply Expect(uint64_t number);
  std::optional<HttpResponse> Defer();
  HttpReply::LeftHandler Forget(uint64_t number);
  // The replies call these, on any thread.
  void Give(uint64_t number, HttpResponse response);
  bool Abandoned(uint64_t number) const;
  void OnLeft(const Owed& owed, HttpReply::LeftHandler handler);
  std::optional<HttpLeft> WhyLeft() const WEIR_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Session* session_ WEIR_GUARDED_BY(mutex_);  // null once the stage has ended
  // By number; the value is empty if OnLeft has set none.
  std::unordered_map<uint64_t, HttpReply::LeftHandler> owed_ WEIR_GUARDED_BY(mutex_);
  std::optional<uint64_t> asked_ WEIR_GUARDED_BY(mutex_);        // the request between Expect and Defer
  std::optional<HttpResponse> at_once_ WEIR_GUARDED_BY(mutex_);  // the answer to asked_, if it has come
  std::list<Answer> answers_ WEIR_GUARDED_BY(mutex_);            // the answers that Take returns
  // Nodes for answers_: one for each request in owed_ but asked_, because later there may be no memory for it.
  std::list<Answer> places_ WEIR_GUARDED_BY(mutex_);
  bool hung_up_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
