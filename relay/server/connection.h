// A WebSocket connection as the code above the network sees it, and the handler that this code provides.
//
// A connection lives on one I/O thread. All functions here are called on it, those of the handler too. Other threads
// post to executor(), and hold the handler, not the connection.
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

// RFC 6455, 7.4.1.
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

// A text message in up to three pieces, so that one body can go to many without a copy of it for each.
struct TextMessage {
  std::string head;
  std::shared_ptr<const std::string> owner;  // keeps body alive; may be null
  std::string_view body;
  std::string_view tail;  // must have static storage

  size_t size() const { return head.size() + body.size() + tail.size(); }
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual uint64_t id() const = 0;                 // never given twice in a process
  virtual const std::string& address() const = 0;  // the client's: as a trusted proxy says, else the socket's
  virtual const std::string& host() const = 0;     // the Host header, for NIP-42
  // Equal for addresses that are likely one client's (a /64 of IPv6). Differs from process to process.
  virtual uint64_t group() const { return std::hash<std::string>()(address()); }
  // Counts the memory that is held for this connection. Its output is counted already.
  virtual const std::shared_ptr<Account>& account() const = 0;
  virtual bool secure() const = 0;       // by TLS to this port, or to a trusted proxy that says so
  virtual size_t io_thread() const = 0;  // index of its I/O thread
  virtual boost::asio::any_io_executor executor() = 0;

  // Queues a message. Messages that are queued in one turn of the I/O thread go out in as few sends as it takes. Never
  // blocks: a peer that lets more than max_pending_bytes wait is disconnected ("too slow"). After the end it does
  // nothing.
  virtual void Send(TextMessage message) = 0;
  void Send(std::string text) { Send(TextMessage{.head = std::move(text), .owner = {}, .body = {}, .tail = {}}); }

  // Bytes that are queued and not yet taken by the socket.
  virtual size_t pending_bytes() const = 0;
  // Calls `callback` once, on a later turn, when pending_bytes() is at most `bytes`; not after the end.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // Charges work that a message caused on the I/O thread beyond what its bytes and frames cost, so that others have
  // their turns sooner.
  virtual void Charge(Work) {}

  // While paused no message comes, and nothing is read from the socket, so TCP holds the sender back. Pauses are
  // counted: reading goes on after as many resumes.
  virtual void PauseReading() = 0;
  virtual void ResumeReading() = 0;

  // Sends what was queued, then the close frame. Logged with the address.
  virtual void Close(CloseCode code, std::string_view reason) = 0;
};

// Handles the messages of a connection. A ConnectionHandlerFactory makes it when the WebSocket is open. The connection
// keeps it alive until OnEnd has returned; other owners may keep it longer.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;

  // A whole text message, valid UTF-8, within max_message_bytes. The view is valid during the call. Must not block.
  virtual void OnText(std::string_view text) = 0;
  // All messages of the connection's turn were given to OnText: time to hand over what was gathered.
  virtual void OnReadEnd() = 0;
  // No message will come any more, because the client has broken the protocol. Call `done` once, when the messages that
  // came are answered. Then, or if that takes too long, the connection is closed.
  virtual void OnLastText(std::function<void()> done) { done(); }
  // The server shuts down: finish what is in flight, then call `done` once.
  virtual void OnShutdown(std::function<void()> done) = 0;
  // Memory is short, and this connection holds much: drop everything that it has ordered. It is closed then.
  virtual void OnGiveUp(std::string_view) {}
  // The connection is gone and must not be used any more. Called once, whatever the cause.
  virtual void OnEnd(std::string_view cause) = 0;
};

using ConnectionHandlerFactory = std::function<std::shared_ptr<ConnectionHandler>(Connection& connection)>;

}  // namespace weir
