// Session is one accepted connection, from accept to close, on one I/O thread. It waits for input, reads, sends and
// ends the connection; its Stage (stage.h) knows the protocol.
//
// All work that a client can cause is done in turns. The I/O thread gives turns to client addresses by work
// (relay/account/turns.h). In a turn the session reads what has come, calls the stage and sends. The work of a turn is
// charged; when it has reached kMostATurn, the rest waits for the session's next turn. A turn is expected to cost what
// the last one has cost, but no less than half of what that one was expected to cost; the first is expected to cost
// kMostATurn.
//
// All functions are called on the I/O thread, unless said otherwise. "Later" means: on the same thread, when the call
// has returned.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/account/work.h"
#include "relay/server/buffered_stream.h"
#include "relay/server/stage.h"

namespace weir {

class IoThread;

class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(IoThread& thread, BufferedStream::Socket socket, Accepted accepted);
  ~Session();

  // Opens the account of the client's address. Must be called before all other functions.
  void OpenAccount(const IpAddress& client);
  // Begins to read. Must be called once, after OpenAccount and SetStage.
  void Start();
  // Sets the next stage. It replaces the present one when that returns from OnInput, and its OnInput is called then.
  void SetStage(std::unique_ptr<Stage> stage);

  IoThread& thread() { return thread_; }
  BufferedStream& stream() { return stream_; }
  const IpAddress& peer() const { return peer_; }  // the other end of the socket: the client, or a proxy
  size_t index = 0;                                // in the I/O thread's list of sessions

  // Called when the session becomes a WebSocket. If a trusted proxy has connected, the client is known only now: the
  // session's place becomes the client's, and the account that of the client's address. Returns kNone, or why the
  // client cannot keep the connection; the caller then has to refuse it. The session must have a place.
  Refusal Settle(const IpAddress& client);
  // Returns the account of the client's address. Settle may replace it.
  const std::shared_ptr<Account>& account() const { return account_; }
  uint64_t group() const { return group_; }  // the client's group: GroupOf in client_address.h

  bool ended() const { return ended_ || ending_; }   // End or EndAfterOutput was called
  bool input_ended() const { return input_ended_; }  // the end of the input was read
  // Returns true if the peer sends nothing more, even if there is input that was not read.
  bool PeerHasHungUp();
  SteadyTime last_heard() const { return last_heard_; }  // when input was last read, or a pause ended
  SteadyTime last_sent() const { return last_sent_; }    // when output was last sent, or the peer took some of it
  bool blocked() const { return waiting_writable_; }     // output waits because the socket takes no more
  bool is_lingering() const { return linger_until_ != SteadyTime(); }  // all is sent; it waits for the peer to close

  // While paused, the session reads nothing from the socket, so it does not notice the peer's end either. Pauses are
  // counted: reading goes on, with a call of OnInput, after as many calls of ResumeReading.
  void PauseReading() { ++pauses_; }
  void ResumeReading();
  bool paused() const { return pauses_ > 0 && !reads_always_; }
  // Ignores pauses and the lack of room from here on.
  void ReadAlways();
  // Counts the input that the stage holds and wants (Stage::held_bytes, whole_bytes). Returns true if the client's
  // address has room for that in its account. If not, OnInput is called later, when there may be room.
  bool TakeRoom();
  // Returns since when the session waits for room; nullopt if it does not.
  std::optional<SteadyTime> lacks_room_since() const { return lacks_room_since_; }

  // Adds work to what this turn has cost.
  void Charge(Work work) { spent_ += work; }
  // Returns true if this turn has cost enough. Then a stage returns from OnInput, which is called again in the next
  // turn.
  bool turn_is_over() const { return spent_ >= kMostATurn; }
  static constexpr Work kMostATurn = kTurnWork / 4;

  // Has OnInput called later, in the session's next turn, whether or not there is input.
  void ProcessSoon();
  // Does the same from any thread. It hands its reference to the I/O thread, so that no other thread destroys the
  // session.
  static void ProcessSoon(std::shared_ptr<Session> session);
  // Sends the output in the session's next turn, together with what is written until then. Within OnInput it does
  // nothing: the output is sent after that anyway.
  void FlushSoon();
  // Sends as much as one turn may, with calls of Stage::Produce and OnSent. The rest follows in later turns.
  void Flush() { FlushUpTo(kMostATurn); }
  // Sends as much as the socket takes.
  void FlushWhole() { FlushUpTo(UINT64_MAX); }
  // Updates the account and the counters when the output that waits has changed.
  void NotePending();
  // Returns the bytes of output that wait, in the stage and in the stream.
  size_t pending_bytes() const { return stream_.output_bytes() + (stage_ ? stage_->queued_bytes() : 0); }

  // A session may always let this much output wait, however many connections there are.
  static constexpr size_t kLeastShare = size_t{64} << 10;
  // Returns true if too much output waits: all connections together let more than max_pending_total_mb wait, and this
  // one more than an equal share of that and more than kLeastShare.
  bool OverShare() const;

  // Calls `function` at once. Logs an exception and ends the session.
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

  // End closes the connection and drops its output. EndAfterOutput sends the output first; then the connection is
  // closed, or lingers: it goes on reading for a while (kLastWordsTaken in http_bounds.h), because a socket that is
  // closed over unread input is reset, and the peer may lose the last output. Both end the stage with `cause`:
  // Stage::OnEnd is called later, for EndAfterOutput even while output waits. Later calls do nothing, but End cuts
  // short an EndAfterOutput.
  enum class Then { kClose, kLinger };
  void End(std::string cause);
  void EndAfterOutput(std::string cause, Then then = Then::kClose);

  // The I/O thread calls the functions below.

  // Called at regular intervals, at least once a second.
  void OnTick(SteadyTime now);
  // Called once, when the server shuts down.
  void OnShutdown();
  // Called when memory is short and the client's address holds most.
  void OnGiveUp();
  // Called when the session's place was given to another connection.
  void OnGiveWay();
  // Called for the session's turn. Returns the work that the turn has cost.
  Work OnTurn();

 private:
  void TurnSoon();
  void FlushUpTo(Work most);
  std::function<void()> Soon(void (Session::*what)());
  size_t NoteHeld(size_t piece_bytes);
  void OnRoom();
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
  const std::unique_ptr<TakenPlace> place_;  // null: the connection is refused
  const CountedIn refused_;                  // counts it while it is refused
  const Refusal refusal_;                    // why it has no place, or only one of loopback's own
  uint64_t group_ = 0;
  std::shared_ptr<Account> account_;
  std::string cause_;
  SteadyTime last_heard_;
  SteadyTime last_sent_;
  SteadyTime linger_until_;
  std::optional<SteadyTime> lacks_room_since_;
  size_t noted_pending_ = 0;  // bytes of output that the account counts
  size_t noted_held_ = 0;     // bytes of input that the account counts
  Work spent_ = 0;            // in this turn
  Work expected_ = kMostATurn;
  int untaken_ = 0;  // bytes that the peer had not acknowledged at the last beat
  uint32_t pauses_ = 0;
  bool waits_for_room_ = false;  // OnRoom will be called
  bool in_line_ = false;         // the session waits for a turn
  bool read_scheduled_ = false;  // a wait for the socket, or a turn, will read
  bool readable_ = false;        // the next turn is to read
  bool process_due_ = false;     // the next turn is to call OnInput
  bool flush_due_ = false;       // the next turn is to send
  bool waiting_writable_ = false;
  bool input_ended_ = false;
  bool shook_hands_ = false;  // the last read has ended the TLS handshake
  bool reads_always_ = false;
  bool processing_ = false;
  bool flushing_ = false;
  bool ending_ = false;       // EndAfterOutput was called
  bool lingers_ = false;      // after the output
  bool half_closed_ = false;  // all output was sent
  bool ended_ = false;        // End was called
};

}  // namespace weir
