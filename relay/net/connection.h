// Connection: a WebSocket connection, as the server offers it to the code that handles its messages (relay/protocol).
// ConnectionHandler: the interface that this code implements to receive the messages.
//
// A connection lives on one I/O thread. All functions of Connection and ConnectionHandler are called on that thread;
// only the callbacks `done` may be called on any thread. The thread works in turns: in its turn, a connection reads its
// input and sends its queued output. Code on another thread posts a function to executor(). The function has to share
// ownership of the handler, and must not use the connection after OnEnd.
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

// The codes of a close frame, from RFC 6455 (7.4.1) and its registry.
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

// A text message in up to three parts, so that one body can be sent to many connections without a copy for each.
struct TextMessage {
  std::string head;
  std::shared_ptr<const std::string> owner;  // keeps `body` alive; null if `body` is empty or has static storage
  std::string_view body;
  std::string_view tail;  // must have static storage

  size_t size() const { return head.size() + body.size() + tail.size(); }
  // Returns the bytes that the message takes while it waits; a body that others hold too counts.
  size_t held_bytes() const { return sizeof *this + head.capacity() + body.size(); }
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual uint64_t id() const = 0;                 // unique among the server's connections
  virtual const std::string& address() const = 0;  // the client's address (client_address.h)
  virtual const std::string& host() const = 0;     // the Host header, which AUTH (NIP-42) needs
  // Returns a number that is the same for all addresses of one client (of IPv6, a /64), but differs from process to
  // process (GroupOf in client_address.h). This default is for tests: it takes each address for a client.
  virtual uint64_t group() const { return std::hash<std::string>()(address()); }
  // Returns the account in which the handler counts the memory that it holds for this connection
  // (relay/account/ledger.h). The server itself counts the unfinished message and the waiting output.
  virtual const std::shared_ptr<Account>& account() const = 0;
  virtual bool secure() const = 0;       // true if the client speaks TLS, to this port or to a trusted proxy
  virtual size_t io_thread() const = 0;  // the index of the connection's I/O thread
  // Returns the executor of the connection's I/O thread. A posted function may run after OnEnd.
  virtual boost::asio::any_io_executor executor() = 0;

  // Queues a message; never blocks. Messages that are queued in one turn are sent in as few system calls as possible.
  // If more than max_pending_bytes then wait because the socket takes no more, or if Session::OverShare() is true,
  // disconnects the client as too slow; OnEnd follows later, not within Send. After Close or OnEnd, Send does nothing.
  virtual void Send(TextMessage message) = 0;
  void Send(std::string text) { Send(TextMessage{.head = std::move(text), .owner = {}, .body = {}, .tail = {}}); }

  // Returns the bytes of memory that the output takes until the socket has taken it (TextMessage::held_bytes).
  virtual size_t pending_bytes() const = 0;
  // Calls `callback` once on the I/O thread, after WhenPendingBelow has returned, when pending_bytes() is at most
  // `bytes`. If the connection ends first, drops `callback`.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // Charges work (relay/account/work.h) that a message caused on the I/O thread, beyond the work of its bytes and
  // frames, so that other clients have their turns sooner.
  virtual void Charge(Work) {}

  // While reading is paused, the server reads nothing from the socket, so TCP slows the sender down; the server sends
  // no pings, and may not notice that the client has disconnected. A message of which a part has arrived may still be
  // delivered to OnText, but no later message. Reading resumes when ResumeReading has been called as often as
  // PauseReading. Close ends all pauses.
  virtual void PauseReading() = 0;
  virtual void ResumeReading() = 0;

  // Sends the queued output, then a close frame. From now on OnText is not called, and Send does nothing. The
  // connection ends when the client has answered the close frame, at the latest after 5 seconds or the ping interval,
  // whichever is less; while the server shuts down, it ends without this answer. OnEnd follows later, not within Close.
  // A reason is cut to 123 bytes. The close is logged with the client's address, at most ten times a second for all
  // clients. Only the first call has an effect.
  virtual void Close(CloseCode code, std::string_view reason) = 0;
};

// ConnectionHandler: handles the messages of one connection. A ConnectionHandlerFactory makes it when the WebSocket is
// open. The connection keeps the handler alive until OnEnd has returned; other owners may keep it longer. An exception
// from a handler is logged and ends the connection.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;

  // Called for each whole text message, which is valid UTF-8 and has at most max_message_bytes. The view is valid only
  // during the call. Must not block.
  virtual void OnText(std::string_view text) = 0;
  // Called once after the calls of OnText in a turn, so that the handler can pass on messages that it has gathered. Not
  // called in a turn without a message.
  virtual void OnReadEnd() = 0;
  // Called at least once a second, until the connection closes, so that the handler need not have a timer of its own.
  virtual void OnTick() {}
  // Called when the client has broken the protocol; no OnText follows. The handler calls `done`, on any thread, when it
  // has answered all messages that it has received; it may do so even after OnEnd. The server closes the connection
  // after the call of `done`, at the latest after 5 seconds or the ping interval, whichever is less.
  virtual void OnLastText(std::function<void()> done) { done(); }
  // Called at most once, when the server shuts down. The handler finishes its work in flight and then calls `done`, on
  // any thread; it may do so even after OnEnd. The server then closes the connection. If `done` is not called, the
  // connection ends when the time of Server::Shutdown is over.
  virtual void OnShutdown(std::function<void()> done) = 0;
  // Called when memory is short and the client's address holds more memory than any other. The handler ends all work
  // for the client and frees its memory. The server then closes the connection; the text is the reason that the client
  // gets.
  virtual void OnGiveUp(std::string_view) {}
  // Called once, as the last call, when the connection has ended for any reason. The handler must not use the
  // connection after this call.
  virtual void OnEnd(std::string_view cause) = 0;
};

// Makes the handler of a new connection, on the connection's I/O thread. Must not return null. May already use the
// connection.
using ConnectionHandlerFactory = std::function<std::shared_ptr<ConnectionHandler>(Connection& connection)>;

}  // namespace weir
