#include "tests/fuzz/served.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "tests/fixtures/must.h"

namespace weir {
namespace {

// Keeps the last line that was logged.
class LastError final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  static LastError& Installed() {
    static const auto sink = [] {
      auto made = std::make_shared<LastError>();
      spdlog::set_default_logger(std::make_shared<spdlog::logger>("errors", made));
      spdlog::set_level(spdlog::level::err);
      return made;
    }();
    return *sink;
  }
  std::string Take() { return std::exchange(last_, {}); }

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    last_.assign(line.payload.data(), line.payload.size());
  }
  void flush_() override {}

 private:
  std::string last_;
};

}  // namespace

Served::Served(HttpRouter router, ConnectionHandlerFactory factory, const ServerSettings& settings)
    : core_(settings, std::move(router), std::move(factory), std::make_shared<Ledger>(LedgerBoundsOf(settings))),
      thread_(core_, 0) {
  core_.counters.push_back(&thread_.counters());
  (void)LastError::Installed();
}

Served::~Served() { thread_.StopAndJoin(); }

std::string Served::Answer(std::span<const std::string_view> pieces) {
  std::array<int, 2> sockets{};
  Must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  const auto [client, server] = sockets;
  Accepted accepted{.socket = OwnedSocket(server), .peer = boost::asio::ip::address_v4::loopback(), .place = nullptr};
  Must(core_.places.Take(accepted.peer, &accepted.place) == Refusal::kNone);
  thread_.Adopt(std::move(accepted));
  std::string said;
  Settle(client, &said);
  for (const std::string_view piece : pieces) {
    // This fails if the server has closed the connection.
    (void)!send(client, piece.data(), piece.size(), MSG_NOSIGNAL);
    Settle(client, &said);
  }
  shutdown(client, SHUT_WR);
  Settle(client, &said);
  close(client);
  // Bytes that do not fit into the HTTP/2 window wait for the tick that would end the connection; end it here instead.
  thread_.EndAll();
  Settle(-1, &said);
  const std::string error = LastError::Installed().Take();
  Must(error.empty(), error);
  Must(thread_.load() == 0, "the connection is gone");
  return said;
}

void Served::Settle(int client, std::string* said) {
  std::array<char, 4096> some;
  for (bool moves = true; moves;) {
    moves = thread_.context().poll() > 0;
    ssize_t bytes = 0;
    while (client >= 0 && (bytes = recv(client, some.data(), some.size(), 0)) > 0) {
      said->append(some.data(), static_cast<size_t>(bytes));
      moves = true;
    }
  }
}

std::vector<std::string_view> Cut(std::string_view text, size_t bytes) {
  std::vector<std::string_view> pieces;
  for (; !text.empty(); text.remove_prefix(pieces.back().size())) pieces.push_back(text.substr(0, bytes));
  return pieces;
}

}  // namespace weir
