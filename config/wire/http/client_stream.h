// ClientStream: a TCP connection to a server, with or without TLS. Its calls block at most until a given time, or until
// about 50 ms after a stop was requested. With TLS, a stream accepts only a trusted certificate for the server's name
// or address, unless Server::verify is false.
//
//   ClientStream stream({.host = "example.com", .port = "443", .tls = true});
//   ClientStream::Error error = stream.Connect({.end = now + timeout, .stop = stop});
//   if (!error) error = stream.Send("GET / HTTP/1.1\r\n…", patience);
//   while (!error) error = stream.Receive(&answer, patience);
//
// Threads: only one thread at a time may use a stream.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace weir {

class ClientStream {
 public:
  struct Server {
    std::string host;  // a name or an address, without brackets
    std::string port;
    bool tls = false;
    std::string ca_file;  // file of certificates to trust; empty: those of the system
    bool verify = true;   // false: any certificate is accepted

    bool operator==(const Server&) const = default;
  };
  // How long a call may block: until `end`, or until about 50 ms after a stop was requested.
  struct Patience {
    std::chrono::steady_clock::time_point end;
    std::stop_token stop;
  };
  struct Error {
    enum Kind {
      kNone,
      kLate,           // the patience ended: its end has passed, or a stop was requested
      kNobodyListens,  // connecting failed at all addresses before the patience ended
      kEnded,          // the server ended the connection before Receive got a byte
      kCut,            // kEnded without the closing message of TLS: data may be missing
      kOther,          // for example an unknown host, a refused certificate, or a failed Send
    };
    Kind kind = kNone;
    std::string problem;  // part of a sentence: "cannot connect to 127.0.0.1:3335: Connection refused"; empty for kLate

    explicit operator bool() const { return kind != kNone; }
  };

  explicit ClientStream(Server server);
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // Tries the addresses of the host one after the other; each gets a share of the remaining time. Call it once, before
  // all other functions. After an error the stream is of no further use. If the patience ends during the look-up of the
  // name, the look-up goes on in a thread of its own and its result is dropped. Throws std::system_error if that thread
  // cannot be made.
  Error Connect(const Patience& patience);
  // Sends all bytes. After an error it is not known how many of them the server has received.
  Error Send(std::string_view bytes, const Patience& patience);
  // Waits for the first byte and appends the bytes that have arrived, at most 16 KiB, to `*bytes`.
  Error Receive(std::string* bytes, const Patience& patience);
  // Returns true if the stream must not be used for another request: if bytes have arrived that no Receive has
  // returned, or if the server has ended the connection. Does not block.
  bool IsSpent() const;
  const Server& server() const { return server_; }

 private:
  class Tls;

  Error Dial(const Patience& patience);
  Error Handshake(const Patience& patience);
  // Calls `step`, a function of OpenSSL, and sends and receives the bytes that it needs until it is done.
  template <typename Step>
  Error Do(Step step, const Patience& patience);
  Error SendClear(std::string_view bytes, const Patience& patience);
  Error ReceiveClear(std::string* bytes, const Patience& patience);
  bool Await(short events, const Patience& patience) const;

  const Server server_;
  int socket_ = -1;
  std::unique_ptr<Tls> tls_;
};

}  // namespace weir
