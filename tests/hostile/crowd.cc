#include "tests/hostile/crowd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace weir {
namespace {

// A trickling reader takes this much in a tenth of a second.
constexpr size_t kTrickleBytes = 200;
constexpr uint64_t kTrickleEvery = 100;  // rounds of a millisecond

// Returns the kind of a message; for a refusal with its reason: the last text, up to its first comma or semicolon.
std::string VerbOf(const std::string& message) {
  std::string verb = message.substr(2, message.find('"', 2) - 2);
  const bool taken = message.find(",true,") != std::string::npos;
  if (verb == "OK" && taken) return "OK true";
  if (verb != "OK" && verb != "CLOSED" && verb != "NOTICE") return verb;
  const size_t begin = message.rfind(verb == "OK" ? ",\"" : "\",\"") + (verb == "OK" ? 2 : 3);
  const std::string reason = message.substr(begin, message.size() - begin - 2);
  return verb + " \"" + reason.substr(0, reason.find_first_of(",;")) + "\"";
}

}  // namespace

Crowd::Crowd(uint16_t port, const std::string& from, size_t connections, const std::string& headers,
             int receive_buffer) {
  for (size_t n = 0; n < connections; ++n) Join(RawClient(port, from, receive_buffer), headers);
}

Crowd::Crowd(uint16_t port, const std::function<std::string(size_t)>& from, size_t connections) {
  for (size_t n = 0; n < connections; ++n) Join(RawClient(port, from(n)), "");
}

void Crowd::Join(RawClient client, const std::string& headers) {
  if (!client.connected() || !client.Handshake(headers)) {
    ++heard_["not taken"];
    return;
  }
  fcntl(client.socket(), F_SETFL, O_NONBLOCK);
  members_.emplace_back(std::move(client));
}

Crowd Crowd::Plain(uint16_t port, const std::string& from, size_t connections) {
  return Plain(
      port, [&](size_t) { return from; }, connections);
}

Crowd Crowd::Plain(uint16_t port, const std::function<std::string(size_t)>& from, size_t connections) {
  Crowd crowd;
  for (size_t n = 0; n < connections; ++n) {
    RawClient client(port, from(n));
    if (!client.connected()) continue;
    fcntl(client.socket(), F_SETFL, O_NONBLOCK);
    crowd.members_.emplace_back(std::move(client));
  }
  return crowd;
}

void Crowd::SendOnce(const std::function<std::string(size_t)>& frames, Duration duration, Reads reads) {
  std::vector<char> sent(members_.size());
  Run(duration, reads, [&](size_t i) { return std::exchange(sent[i], 1) != 0 ? std::string() : frames(i); });
}

void Crowd::Run(Duration duration, Reads reads, const Next& next) {
  const auto end = std::chrono::steady_clock::now() + duration;
  std::vector<pollfd> ready(members_.size());
  while (std::chrono::steady_clock::now() < end) {
    ++rounds_;
    bool wrote = false;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].ended) continue;
      Write(i, next);
      wrote = wrote || members_[i].sent < members_[i].out.size();
    }
    const bool reads_now = reads == Reads::kAll || (reads == Reads::kTrickle && rounds_ % kTrickleEvery == 0);
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].ended && reads_now) Read(members_[i], reads);
      ready[i] = {.fd = members_[i].ended ? -1 : members_[i].client.socket(),
                  .events = static_cast<short>((members_[i].sent < members_[i].out.size() ? POLLOUT : 0) |
                                               (reads == Reads::kAll ? POLLIN : 0)),
                  .revents = 0};
    }
    poll(ready.data(), ready.size(), 1);
  }
}

void Crowd::Write(size_t index, const Next& next) {
  Member& member = members_[index];
  if (member.sent == member.out.size()) {
    member.out = next(index);
    member.sent = 0;
  }
  if (member.out.empty()) return;
  const ssize_t sent = send(member.client.socket(), member.out.data() + member.sent, member.out.size() - member.sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) member.sent += static_cast<size_t>(sent);
  if (sent < 0 && errno != EAGAIN) {
    Listen(member);
    member.ended = true;
  }
}

void Crowd::Read(Member& member, Reads reads) {
  char buffer[65536];
  const size_t most = reads == Reads::kTrickle ? kTrickleBytes : sizeof buffer;
  const ssize_t bytes = recv(member.client.socket(), buffer, most, MSG_DONTWAIT);
  if (bytes > 0) {
    member.in.append(buffer, static_cast<size_t>(bytes));
    Listen(member);
  } else if (bytes == 0 || errno != EAGAIN) {
    member.ended = true;
    ++heard_["ended"];
  }
}

// Parses the whole frames of the server, which are not masked.
void Crowd::Listen(Member& member) {
  size_t at = 0;
  for (;;) {
    const auto byte = [&](size_t n) { return static_cast<uint8_t>(member.in[at + n]); };
    if (member.in.size() - at < 2) break;
    size_t header = 2;
    uint64_t length = byte(1) & 127;
    if (length >= 126) {
      const size_t extra = length == 126 ? 2 : 8;
      if (member.in.size() - at < header + extra) break;
      length = 0;
      for (size_t n = 0; n < extra; ++n) length = length << 8 | byte(2 + n);
      header += extra;
    }
    if (member.in.size() - at < header + length) break;
    const int opcode = byte(0) & 15;
    const std::string payload = member.in.substr(at + header, length);
    if (opcode == kClose && payload.size() >= 2) {
      const int code = static_cast<uint8_t>(payload[0]) << 8 | static_cast<uint8_t>(payload[1]);
      ++heard_["close " + std::to_string(code) + " " + payload.substr(2)];
    } else if (opcode == kText && payload.size() > 2) {
      ++heard_[VerbOf(payload)];
    }
    at += header + length;
  }
  member.in.erase(0, at);
}

size_t Crowd::open() const {
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(), [](const Member& m) { return !m.ended; }));
}

std::string Crowd::Heard() const {
  std::string text;
  for (const auto& [what, times] : heard_) text += (text.empty() ? "" : ", ") + std::to_string(times) + " " + what;
  return text.empty() ? "nothing" : text;
}

}  // namespace weir
