// Crowd: the connections of an attack, all served by one thread. Each connection sends its bytes as fast as the relay
// takes them; the attack decides how much it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/clock.h"
#include "tests/fixtures/raw_client.h"

namespace weir {

enum class Reads : uint8_t { kNothing, kTrickle, kAll };

class Crowd {
 public:
  // Returns the bytes to send next, or none for now. Called again when the previous bytes are sent.
  using Next = std::function<std::string(size_t connection)>;

  // `headers` are additional lines of the handshake. A small receive buffer makes the relay notice a slow reader
  // sooner.
  Crowd(uint16_t port, const std::string& from, size_t connections, const std::string& headers = "",
        int receive_buffer = 0);
  // Makes a crowd in which each connection has an address of its own.
  Crowd(uint16_t port, const std::function<std::string(size_t connection)>& from, size_t connections);
  // Makes a crowd of TCP connections without a WebSocket handshake.
  static Crowd Plain(uint16_t port, const std::string& from, size_t connections);
  static Crowd Plain(uint16_t port, const std::function<std::string(size_t connection)>& from, size_t connections);

  void Run(Duration duration, Reads reads, const Next& next);
  // Sends one text message on each connection, then goes on as Run with nothing to send.
  void SendOnce(const std::function<std::string(size_t connection)>& frames, Duration duration, Reads reads);

  size_t size() const { return members_.size(); }
  size_t open() const;
  // Returns how often each answer came: "EVENT", "OK true", "OK false", "CLOSED", "EOSE", "NOTICE", "close 1013" …
  const std::map<std::string, uint64_t>& heard() const { return heard_; }
  std::string Heard() const;

 private:
  struct Member {
    explicit Member(RawClient c) : client(std::move(c)) {}
    RawClient client;
    std::string out;
    size_t sent = 0;
    std::string in;  // bytes of an incomplete frame
    bool ended = false;
  };

  Crowd() = default;
  void Join(RawClient client, const std::string& headers);
  void Write(size_t index, const Next& next);
  void Read(Member& member, Reads reads);
  void Listen(Member& member);

  std::vector<Member> members_;
  std::map<std::string, uint64_t> heard_;
  uint64_t rounds_ = 0;
};

}  // namespace weir
