// Session: one accepted socket, from accept to close, on one I/O thread. It waits, reads, flushes and ends; its Stage
// knows what the bytes mean.
//
// All work that a peer can cause is done in turns, which the I/O thread gives to addresses by work
// (relay/account/turns.h). The work of a turn is charged, and when it is as much as a turn may have, the rest waits for
// the next. A turn is expected to cost what the last one has, but no less than half of what that one was expected to;
// the first is expected to cost as much as a turn may.
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

  // Must be called first.
  void OpenAccount(const IpAddress& client);
  // Must be called with the first stage set.
  void Start();
  // Sets the stage that goes on when the running one returns from OnInput.
  void SetStage(std::unique_ptr<Stage> stage);

  IoThread& thread() { return thread_; }
  BufferedStream& stream() { return stream_; }
  const IpAddress& peer() const { return peer_; }
  size_t index = 0;  // in the I/O thread's list

  // Keeps the session as this client's. For a proxy's connection the client is known only now. Returns kNone, or why
  // the session cannot stay.
  Refusal Settle(const IpAddress& client);
  // The client's account. It changes when a trusted proxy names the client.
  const std::shared_ptr<Account>& account() const { return account_; }
  uint64_t group() const { return group_; }

  bool ended() const { return ended_ || ending_; }
  bool input_ended() const { return input_ended_; }
  // Returns true if the peer sends nothing more, even if there is input that was not read.
  bool PeerHasHungUp();
  SteadyTime last_heard() const { return last_heard_; }
  SteadyTime last_sent() const { return last_sent_; }  // when output was last sent, or the peer took some of it
  bool blocked() const { return waiting_writable_; }
  bool is_lingering() const { return linger_until_ != SteadyTime(); }  // all output was sent

  void PauseReading() { ++pauses_; }
  void ResumeReading();
  bool paused() const { return pauses_ > 0 && !reads_always_; }
  // Ignores pauses from here on.
  void ReadAlways();
  // Returns true if the client's address may hold what the stage wants. If not, the stage is called again when it may.
  bool TakeRoom();
  // The time since when it waits for room, if it does.
  std::optional<SteadyTime> lacks_room_since() const { return lacks_room_since_; }

  // Adds to what the turn has cost.
  void Charge(Work work) { spent_ += work; }
  // If true, a stage returns from OnInput, which is called again in the session's next turn.
  bool turn_is_over() const { return spent_ >= kMostATurn; }
  static constexpr Work kMostATurn = kTurnWork / 4;

  // Has OnInput called on a later turn, bytes or not.
  void ProcessSoon();
  // The same from any thread. It passes the reference on, so that the caller's thread does not destroy the session.
  static void ProcessSoon(std::shared_ptr<Session> session);
  // Flushes in the session's next turn, together with what else is written until then.
  void FlushSoon();
  // Sends as much as a turn may; the rest follows in later turns.
  void Flush() { FlushUpTo(kMostATurn); }
  // Sends as much as the socket takes.
  void FlushWhole() { FlushUpTo(UINT64_MAX); }
  // Updates the accounts after the output that waits has changed.
  void NotePending();
  size_t pending_bytes() const { return stream_.output_bytes() + (stage_ ? stage_->queued_bytes() : 0); }

  // Output that waits is never too much up to this size, however many connections there are.
  static constexpr size_t kLeastShare = size_t{64} << 10;
  // Returns true if more waits than that and than an equal share of max_pending_total_mb, while all together have more
  // than max_pending_total_mb.
  bool OverShare() const;

  // Calls `function`; an exception ends the session.
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

  // Ends the session, on a later turn: at once, or when the output is sent. A session that lingers then goes on reading
  // for a while, because a socket that is closed over unread input is reset, which takes the last words from the peer.
  enum class Then { kClose, kLinger };
  void End(std::string cause);
  void EndAfterOutput(std::string cause, Then then = Then::kClose);

  void OnTick(SteadyTime now);
  void OnShutdown();
  // Memory is short, and this session's address holds most.
  void OnGiveUp();
  // Its place was given to another connection.
  void OnGiveWay();
  // Called by the I/O thread for the session's turn. Returns what it cost.
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
  const std::unique_ptr<TakenPlace> place_;  // null: it is refused
  const CountedIn refused_;
  const Refusal refusal_;  // why it has only one of loopback's own places, or kNone
  uint64_t group_ = 0;
  std::shared_ptr<Account> account_;
  std::string cause_;
  SteadyTime last_heard_;
  SteadyTime last_sent_;
  SteadyTime linger_until_;
  std::optional<SteadyTime> lacks_room_since_;
  size_t noted_pending_ = 0;
  size_t noted_held_ = 0;
  Work spent_ = 0;  // in this turn
  Work expected_ = kMostATurn;
  int untaken_ = 0;  // bytes that the peer had not taken at the last beat
  uint32_t pauses_ = 0;
  bool waits_for_room_ = false;  // and OnRoom will be called
  bool in_line_ = false;
  bool read_scheduled_ = false;  // a wait or a turn will go on reading
  bool readable_ = false;        // the wait is over
  bool process_due_ = false;
  bool flush_due_ = false;
  bool waiting_writable_ = false;
  bool input_ended_ = false;
  bool shook_hands_ = false;  // just now
  bool reads_always_ = false;
  bool processing_ = false;
  bool flushing_ = false;
  bool ending_ = false;  // after output
  bool lingers_ = false;
  bool half_closed_ = false;
  bool ended_ = false;
};

}  // namespace weir
