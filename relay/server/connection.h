// A WebSocket connection (Connection) as the code above the network sees it, and the interface that this code
// implements to receive its messages (ConnectionHandler).
//
// A connection lives on one I/O thread. All functions here are called on that thread, those of the handler too; only
// the callbacks `done` may be called on any thread. The thread works in turns: in its turn, a connection reads what has
// come and sends what was queued. Code on other threads posts to executor(). It keeps the handler alive, not the
// connection, which ends at OnEnd.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/account/ledger.h"
#include "relay/account/work.h"

namespace weir {

// The codes of a close frame, as RFC 6455 (7.4.1) and its registry number them.
enum class CloseCode : uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kUnsupportedData = 1003,
  kInvalidText = 1007,
  kPolicy = 1008,
  kTooBig = 1009,
  kOverloaded = 1013,
};

// A text message in up to three parts, sent one after the other as one message: so a body can go to many connections
// without a copy for each.
struct TextMessage {
  std::string head;
  std::shared_ptr<const std::string> owner;  // keeps `body` alive; null: `body` is empty or has static storage
  std::string_view body;
  std::string_view tail;  // must have static storage

  size_t size() const { return head.size() + body.size() + tail.size(); }
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual uint64_t id() const = 0;                 // unique in the process
  virtual const std::string& address() const = 0;  // the client: as a trusted proxy says, else the socket's peer
  virtual const std::string& host() const = 0;     // the Host header, for NIP-42
  // Returns a number that is the same for addresses that are likely one client's (a /64 of IPv6). It differs from
  // process to process (GroupOf in client_address.h).
  virtual uint64_t group() const { return std::hash<std::string>()(address()); }
  // Returns the account for memory that the handler holds for this connection (relay/account/ledger.h). The server has
  // counted the unfinished message and the output that waits.
  virtual const std::shared_ptr<Account>& account() const = 0;
  virtual bool secure() const = 0;       // the client speaks TLS, to this port or to a trusted proxy that says so
  virtual size_t io_thread() const = 0;  // the index of the connection's I/O thread
  // Runs functions on the connection's I/O thread. A function that is posted may run after OnEnd.
  virtual boost::asio::any_io_executor executor() = 0;

  // Queues a message; never blocks. Messages that are queued in one turn go out in as few system calls as possible. If
  // more than max_pending_bytes wait, or too much by the bound for all connections (max_pending_total_mb), the client
  // is disconnected as too slow; OnEnd follows later, not within Send. After Close or the end Send does nothing.
  virtual void Send(TextMessage message) = 0;
  void Send(std::string text) { Send(TextMessage{.head = std::move(text), .owner = {}, .body = {}, .tail = {}}); }

  // Returns the bytes that are queued and that the socket has not taken.
  virtual size_t pending_bytes() const = 0;
  // Calls `callback` once, when pending_bytes() is at most `bytes`: on the I/O thread, never before WhenPendingBelow
  // has returned. If the connection ends first, `callback` is dropped.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // Charges work (relay/account/work.h) that a message caused on the I/O thread, beyond what its bytes and frames cost,
  // so that other connections have their turns sooner.
  virtual void Charge(Work) {}

  // While paused, the server reads nothing from the socket, so TCP holds the sender back; pings stop, and the client's
  // end is not noticed. A message that has come in part may still be delivered, but no other. Pauses are counted:
  // reading goes on after as many calls of ResumeReading. Close ends all pauses.
  virtual void PauseReading() = 0;
  virtual void ResumeReading() = 0;

  // Sends what was queued, then a close frame. From here on no message is delivered and Send does nothing. The
  // connection ends when the client has answered the close frame, or after 5 seconds (the ping interval, if that is
  // less). OnEnd follows later, not within Close. A reason is cut to 123 bytes. The close is logged with the client's
  // address. Only the first call counts.
  virtual void Close(CloseCode code, std::string_view reason) = 0;
};

// Handles the messages of one connection. A ConnectionHandlerFactory makes it when the WebSocket is open. The
// connection keeps it alive until OnEnd has returned; other owners may keep it longer. An exception from a handler is
// logged and ends the connection.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;

  // Called for each whole text message, which is valid UTF-8 and has at most max_message_bytes. The view is valid
  // during the call. Must not block.
  virtual void OnText(std::string_view text) = 0;
  // Called once after the OnText of one turn, so that the handler can pass on what it has gathered. Not called in a
  // turn without a message.
  virtual void OnReadEnd() = 0;
  // Called when no message will come any more, because the client has broken the protocol. The handler calls `done`
  // when it has answered the messages that came; it may call it on any thread, even after OnEnd. Then, or after 5
  // seconds (the ping interval, if that is less), the connection is closed.
  virtual void OnLastText(std::function<void()> done) { done(); }
  // Called at most once, when the server shuts down. The handler finishes what is in flight and then calls `done`, on
  // any thread, even after OnEnd. Then the connection is closed; if `done` is not called, it ends with the shutdown.
  virtual void OnShutdown(std::function<void()> done) = 0;
  // Called when memory is short and the connection's address holds most. The handler drops all that it does for the
  // client, and frees the memory. The connection is closed after the call; the text is the reason that the client gets.
  virtual void OnGiveUp(std::string_view) {}
  // Called once, whatever the cause. The connection is gone and must not be used any more.
  virtual void OnEnd(std::string_view cause) = 0;
};

// Makes the handler of a new connection, on the connection's I/O thread. Must not return null. May use the connection.
using ConnectionHandlerFactory = std::function<std::shared_ptr<ConnectionHandler>(Connection& connection)>;

}  // namespace weir
