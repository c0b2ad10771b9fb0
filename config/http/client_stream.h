// ClientStream: a connection to a server, in clear or by TLS. Its calls block, but not beyond a given moment nor beyond
// a stop. By TLS it accepts only a certificate for the server's name.
//
//   ClientStream stream({.host = "example.com", .port = "443", .tls = true});
//   ClientStream::Error error = stream.Connect({.end = now + timeout, .stop = stop});
//   if (!error) error = stream.Send("GET / HTTP/1.1\r\n…", patience);
//   while (!error) error = stream.Receive(&answer, patience);
//
// Threads: one at a time.
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
    std::string ca_file;  // certificates to trust; empty: the system's
    bool verify = true;   // false accepts any certificate
  };
  struct Patience {
    std::chrono::steady_clock::time_point end;
    std::stop_token stop;
  };
  struct Error {
    enum Kind {
      kNone,
      kLate,           // the patience ended: its end or its stop came
      kNobodyListens,  // no connection could be made
      kEnded,          // the server ended the connection
      kCut,            // the same without TLS's farewell: the data may be incomplete
      kOther,
    };
    Kind kind = kNone;
    std::string problem;  // a part of a sentence: "cannot connect to 127.0.0.1:3335: Connection refused"

    explicit operator bool() const { return kind != kNone; }
  };

  explicit ClientStream(Server server);
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // Tries every address of the name. Call it once, before all other functions.
  Error Connect(const Patience& patience);
  Error Send(std::string_view bytes, const Patience& patience);
  // Waits for the first byte and appends the bytes that are there, 16 KiB at most.
  Error Receive(std::string* bytes, const Patience& patience);
  // Returns true if the server has sent something or ended the connection since the last call.
  bool IsSpent() const;

 private:
  class Tls;

  Error Dial(const Patience& patience);
  Error Handshake(const Patience& patience);
  // Runs a step of OpenSSL, and sends and receives as long as the step needs it.
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
