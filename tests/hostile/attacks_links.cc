// Relays with which the operator has linked this one, and that flood it.
#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <fstream>
#include <thread>

#include "relay/nostr/signature.h"
#include "tests/fixtures/eventually.h"
#include "tests/hostile/attack.h"

namespace weir {
namespace {

using Tcp = boost::asio::ip::tcp;
using WebSocket = boost::beast::websocket::stream<Tcp::socket>;
using namespace std::chrono_literals;

// A WebSocket server that sends one message after the other to each client, as fast as it reads, and hears nothing.
class FloodingPeer {
 public:
  using MakeMessage = std::function<std::string(size_t number)>;

  explicit FloodingPeer(MakeMessage make)
      : make_(std::move(make)), acceptor_(io_, {boost::asio::ip::make_address(AttackerAddress()), 0}) {
    thread_ = std::thread([this] {
      while (!stops_) Serve();
    });
  }
  ~FloodingPeer() {
    stops_ = true;
    boost::system::error_code ignored;
    Tcp::socket waker(io_);
    waker.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::string url() const {
    return "ws://" + AttackerAddress() + ":" + std::to_string(acceptor_.local_endpoint().port());
  }
  size_t sent() const { return sent_; }

 private:
  void Serve() {
    boost::system::error_code error;
    Tcp::socket socket(io_);
    acceptor_.accept(socket, error);
    if (error || stops_) return;
    const timeval patience{.tv_sec = 0, .tv_usec = 100'000};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    WebSocket peer(std::move(socket));
    peer.accept(error);  // fails for the request of the NIP-11 document, which comes first
    peer.auto_fragment(false);
    while (!error && !stops_) {
      const std::string message = make_(sent_);
      peer.write(boost::asio::buffer(message), error);
      if (!error) ++sent_;
    }
  }

  const MakeMessage make_;
  boost::asio::io_context io_;
  Tcp::acceptor acceptor_;
  std::atomic<bool> stops_{false};
  std::atomic<size_t> sent_{0};
  std::thread thread_;
};

void WriteLinks(const Arena& arena, const std::string& text) {
  const std::filesystem::path path = arena.data_dir().parent_path() / "config" / "limits.yaml";
  std::ofstream(path.string() + ".new") << text;
  std::filesystem::rename(path.string() + ".new", path);
}

std::string FloodingPeers(Arena& arena, double scale) {
  const Signer signer(61);
  const std::string valid = signer.SignedEvent(Now(), 1, "[]", std::string(600, 'n'));
  const std::string note = "[\"EVENT\",\"live\"," + valid;
  std::string forged = note;
  forged[forged.find("\"sig\":\"") + 8] ^= 1;
  const auto same = [](std::string message) { return [message = std::move(message)](size_t) { return message; }; };
  std::deque<FloodingPeer> peers;
  peers.emplace_back(same(note + "]"));
  peers.emplace_back(same(forged + "]"));
  peers.emplace_back(
      [&](size_t n) { return "[\"EVENT\",\"live\"," + signer.SignedEvent(Now(), 1, "[]", std::to_string(n)) + "]"; });
  peers.emplace_back(same("[\"NOTICE\",\"" + std::string(1 << 20, 'x') + "\"]"));
  peers.emplace_back([](size_t n) {
    return "[\"OK\",\"" + std::string(64, 'a') + "\",false,\"blocked: " + std::string(10'000, 'r') + std::to_string(n) +
           "\"]";
  });
  peers.emplace_back(same("[\"NEG-MSG\",\"sync\",\"61" + std::string(100'000, 'f') + "\"]"));
  peers.emplace_back(
      [](size_t n) { return "[\"CLOSED\",\"live\",\"" + std::string(100'000, 'c') + std::to_string(n) + "\"]"; });
  peers.emplace_back(same("[" + std::string(10 << 20, '[')));
  std::string file = "router:\n  peers:\n    relays:\n";
  for (const FloodingPeer& peer : peers) file += "      - \"" + peer.url() + "\"\n";
  WriteLinks(arena, file);
  // On a busy machine the links are made late.
  (void)Eventually(
      [&] { return std::ranges::all_of(peers, [](const FloodingPeer& peer) { return peer.sent() > 0; }); });
  std::this_thread::sleep_for(Scaled(15s, scale) + 2s);
  WriteLinks(arena, "relay: {}\n");
  size_t sent = 0;
  for (const FloodingPeer& peer : peers) {
    sent += peer.sent();
    if (peer.sent() == 0) arena.complaint = "no link was made with " + peer.url();
  }
  std::this_thread::sleep_for(3s);  // until the file is read
  return std::to_string(sent) + " messages";
}

}  // namespace

std::vector<Attack> LinkAttacks() {
  Attack attack{"flooding_peers",
                "8 relays of the router that flood: events old, forged and new, long notices, reasons and closings, "
                "wrong messages of negentropy, brackets",
                {"WEIR_CONFIG={dir}/config/limits.yaml"},
                {},
                FloodingPeers,
                kMostOfAllMb};
  attack.config = "relay: {}\n";
  return {attack};
}

}  // namespace weir
