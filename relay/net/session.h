// Session: one accepted connection, from accept to close, on one I/O thread. Waits for input, reads, sends and ends the
// connection; its Stage (stage.h) handles the protocol.
//
// A session does all its work for the client in turns. In a turn it reads input, calls the stage and sends output. When
// the turn has cost kMostATurn, the rest of the work waits for the session's next turn. The I/O thread chooses the
// session that gets the next turn by the work that each client address has had (relay/account/turns.h). For this it
// needs the expected work of a turn: the work of the session's last turn, but at least half of what was expected of
// that turn, and at most kMostATurn. The first turn is expected to cost kMostATurn.
//
// All functions must be called on the I/O thread, unless their comments say otherwise. "Later" means on the same
// thread, after the function has returned.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/account/work.h"
#include "relay/net/buffered_stream.h"
#include "relay/net/stage.h"

namespace weir {

class IoThread;

class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(IoThread& thread, BufferedStream::Socket socket, Accepted accepted);
  ~Session();

  // Opens an account of the client's address, and moves to it the bytes that the session holds. Must first be
  // called before SetStage and Start. If memory runs out, throws, and the session keeps the account that it has.
  void OpenAccount(const IpAddress& client);
  // Begins to read. Must be called once, after OpenAccount and SetStage.
  void Start();
  // Sets the next stage. When the present stage returns from OnInput, the session replaces it by the next stage, and
  // calls the OnInput of that stage.
  void SetStage(std::unique_ptr<Stage> stage);

  IoThread& thread() { return thread_; }
  BufferedStream& stream() { return stream_; }
  const IpAddress& peer() const { return peer_; }  // the other end of the socket: the client or a proxy
  size_t index = 0;                                // the index in the I/O thread's list of sessions

  // Called when the session becomes a WebSocket. If the peer is a trusted proxy, the request has only now named the
  // client; Settle then assigns the session's place and account to the client's address. Returns kNone, or the reason
  // why the client cannot keep the connection; the caller must then refuse the request. REQUIRES: the session has a
  // place (places.h).
  Refusal Settle(const IpAddress& client);
  // Returns the account of the client's address. Settle may replace it.
  const std::shared_ptr<Account>& account() const { return account_; }
  uint64_t group() const { return group_; }  // the client's group (GroupOf in client_address.h)

  bool ended() const { return ended_ || ending_; }   // true once End or EndAfterOutput was called
  bool input_ended() const { return input_ended_; }  // true once the end of the input was read
  // Returns true if the peer has closed its sending half, even if there is input that was not read yet.
  bool PeerHasHungUp();
  SteadyTime last_heard() const { return last_heard_; }  // the last time that input was read, or that a pause ended
  SteadyTime last_sent() const { return last_sent_; }    // the last time that output was sent, or reached the peer
  bool blocked() const { return waiting_writable_; }     // true while output waits because the socket takes no more
  // Returns true while the session has sent all output and only waits for the peer to close the connection.
  bool is_lingering() const { return linger_until_ != SteadyTime(); }

  // While reading is paused, the session does not read the socket, so it does not notice that the peer has closed the
  // connection. Reading resumes, with a call of OnInput, when ResumeReading has been called as often as PauseReading.
  void PauseReading() { ++pauses_; }
  void ResumeReading();
  bool paused() const { return pauses_ > 0 && !reads_always_; }
  // Makes the session ignore pauses and the lack of room from now on.
  void ReadAlways();
  // Counts in the client's account the input that the stage holds, and the rest of its unfinished message
  // (Stage::held_bytes and whole_bytes). Returns true if the account has room for both, and the output that waits
  // leaves room (OutputFillsAddress), or after ReadAlways. Otherwise calls OnInput later, when there may be room.
  bool TakeRoom();
  // Returns the time since which the session waits for room; nullopt if it does not wait.
  std::optional<SteadyTime> lacks_room_since() const { return lacks_room_since_; }

  // Adds `work` to the cost of this turn; outside of a turn, to the cost of the session's next turn.
  void Charge(Work work) { spent_ += work; }
  // Returns true if this turn has cost kMostATurn or more. The stage should then return from OnInput, which is called
  // again in the next turn.
  bool turn_is_over() const { return spent_ >= kMostATurn; }
  static constexpr Work kMostATurn = kTurnWork / 4;

  // Makes the session call OnInput in its next turn, whether or not there is input.
  void ProcessSoon();
  // Does the same, but may be called from any thread. Moves `session` to the I/O thread, so that no other thread
  // destroys the session.
  static void ProcessSoon(std::shared_ptr<Session> session);
  // Sends the output in the session's next turn, together with output that is written until then. Does nothing within
  // OnInput, because the output is sent when OnInput returns.
  void FlushSoon();
  // Sends as much output as one turn may send, and calls Stage::Produce and OnSent. Later turns send the rest.
  void Flush() { FlushUpTo(kMostATurn); }
  // Sends as much output as the socket takes.
  void FlushWhole() { FlushUpTo(UINT64_MAX); }
  // Updates the account and the counters. Must be called when the amount of waiting output has changed.
  void NotePending();
  // Returns the bytes of output that wait, in the stage and in the stream.
  size_t pending_bytes() const { return stream_.output_bytes() + (stage_ ? stage_->queued_bytes() : 0); }

  // The bytes of output that may always wait on a session, however many connections there are.
  static constexpr size_t kLeastShare = size_t{64} << 10;
  // Returns true if too much output waits, which means more than max_pending_total_mb on all connections together, and
  // more than an equal share of that, and more than kLeastShare, on this connection.
  bool OverShare() const;

  // Calls `function` at once. If it throws, ends the session and logs the exception. Guard itself does not throw.
  template <typename Function>
  void Guard(Function function) {
    try {
      function();
    } catch (const std::exception& e) {
      OnFault(e.what());
    } catch (...) {
      OnFault("of no known kind");
    }
  }

  // End closes the connection and drops its output. EndAfterOutput sends the output, and then closes the connection or
  // lets it linger. A lingering connection still reads and drops input for a while (kLastWordsTaken in http_bounds.h):
  // if a socket is closed with unread input, the system resets the connection, and the peer may lose the last output.
  // Both functions end the stage: they call Stage::OnEnd(cause) later, EndAfterOutput even while output waits. Further
  // calls do nothing, except that End after EndAfterOutput drops the output that still waits. End does not throw; if
  // memory runs out, the connection closes at the next OnTick.
  enum class Then { kClose, kLinger };
  void End(std::string cause);
  void EndAfterOutput(std::string cause, Then then = Then::kClose);

  // The I/O thread calls the functions below.

  // Called at regular intervals, at least once a second. Does not throw.
  void OnTick(SteadyTime now);
  // Called once, when the server shuts down.
  void OnShutdown();
  // Called when memory is short and the client's address holds more memory than any other.
  void OnGiveUp();
  // Called when the session's place was given to another connection.
  void OnGiveWay();
  // Called for the session's turn. Returns the work that the turn has cost, and that was done since the turn before.
  // Does not throw.
  Work OnTurn();

 private:
  void TurnSoon();
  void FlushUpTo(Work most);
  std::function<void()> Soon(void (Session::*what)());
  size_t NoteHeld(size_t piece_bytes);
  void OnRoom();
  // Returns true if the stage can wait for room, more than kLeastShare of output waits because the socket takes no
  // more, and the address holds as much as it may. The other stages bound the output that waits while they read.
  bool OutputFillsAddress() const;
  size_t MostToRead() const;
  void WaitReadable();
  void WaitWritable();
  void OnReadable();
  size_t Fill(boost::system::error_code& error);
  bool AnswersInClear();
  void Process();
  void ReadOn();
  void OnAllSent();
  void EndStage();
  void OnFault(std::string_view what);
  void NoteTaken(SteadyTime now);
  void GiveBackAll();
  void Finish();

  IoThread& thread_;
  BufferedStream stream_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Stage> next_stage_;
  const IpAddress peer_;
  const std::unique_ptr<TakenPlace> place_;  // null if the connection is refused
  const CountedIn refused_;                  // see Accepted::refused
  const Refusal refusal_;                    // see Accepted::refusal
  uint64_t group_ = 0;
  std::shared_ptr<Account> account_;
  std::string cause_;
  SteadyTime last_heard_;
  SteadyTime last_sent_;
  SteadyTime linger_until_;
  std::optional<SteadyTime> lacks_room_since_;
  size_t noted_pending_ = 0;  // bytes of output that the account counts
  size_t noted_held_ = 0;     // bytes of input that the account counts
  Work spent_ = 0;            // the work of this turn so far; between two turns, the work since the last one
  Work expected_ = kMostATurn;
  int untaken_ = 0;  // bytes that the peer had not acknowledged at the last OnTick
  uint32_t pauses_ = 0;
  bool waits_for_room_ = false;  // true if OnRoom will be called
  bool in_line_ = false;         // true while the session waits for a turn
  bool read_scheduled_ = false;  // true while the session waits for the socket or for a turn in order to read
  bool readable_ = false;        // true if the next turn must read
  bool process_due_ = false;     // true if the next turn must call OnInput
  bool flush_due_ = false;       // true if the next turn must send
  bool waiting_writable_ = false;
  bool input_ended_ = false;
  bool shook_hands_ = false;  // true if the TLS handshake ended during the last read
  bool reads_always_ = false;
  bool processing_ = false;
  bool flushing_ = false;
  bool ending_ = false;            // true once EndAfterOutput was called
  bool lingers_ = false;           // true if the session lingers once the output is sent
  bool half_closed_ = false;       // true once the last output was sent
  bool ended_ = false;             // true once End was called
  bool finishes_at_tick_ = false;  // true if End had no memory to call Finish later
};

}  // namespace weir
