// DelayingForwarder: forwards connections to a port of 127.0.0.1, and delivers each piece later by a fixed delay in
// each direction, like a network between two machines.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "config/clock.h"

namespace weir {

class DelayingForwarder {
 public:
  DelayingForwarder(uint16_t to, Duration delay) : to_(Loopback(to)), delay_(delay) {
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~DelayingForwarder() {
    io_.stop();
    thread_.join();
  }
  DelayingForwarder(const DelayingForwarder&) = delete;
  DelayingForwarder& operator=(const DelayingForwarder&) = delete;

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  using Tcp = boost::asio::ip::tcp;
  struct Pair {
    explicit Pair(boost::asio::io_context& io) : near(io), far(io) {}
    Tcp::socket near;
    Tcp::socket far;
  };
  struct Piece {
    TimePoint due;
    std::string bytes;  // empty: the end of the stream
  };
  struct Pipe {
    Pipe(boost::asio::io_context& io, std::shared_ptr<Pair> p, Tcp::socket& f, Tcp::socket& t)
        : pair(std::move(p)), from(f), to(t), timer(io) {}
    std::shared_ptr<Pair> pair;
    Tcp::socket& from;
    Tcp::socket& to;
    boost::asio::steady_timer timer;
    std::array<char, 64 << 10> read{};
    std::deque<Piece> on_the_way;
  };

  static Tcp::endpoint Loopback(uint16_t port) { return {boost::asio::ip::make_address("127.0.0.1"), port}; }

  void Accept() {
    auto pair = std::make_shared<Pair>(io_);
    acceptor_.async_accept(pair->near, [this, pair](const boost::system::error_code& error) {
      if (error) return;
      boost::system::error_code failed;
      pair->far.connect(to_, failed);
      if (!failed) {
        pair->near.set_option(Tcp::no_delay(true), failed);
        pair->far.set_option(Tcp::no_delay(true), failed);
        Read(std::make_shared<Pipe>(io_, pair, pair->near, pair->far));
        Read(std::make_shared<Pipe>(io_, pair, pair->far, pair->near));
      }
      Accept();
    });
  }

  void Read(const std::shared_ptr<Pipe>& pipe) {
    pipe->from.async_read_some(boost::asio::buffer(pipe->read), [this, pipe](const auto& error, size_t bytes) {
      pipe->on_the_way.push_back(
          {Clock::System().Now() + delay_, error ? std::string() : std::string(pipe->read.data(), bytes)});
      if (pipe->on_the_way.size() == 1) Deliver(pipe);
      if (!error) Read(pipe);
    });
  }

  void Deliver(const std::shared_ptr<Pipe>& pipe) {
    pipe->timer.expires_at(pipe->on_the_way.front().due);
    pipe->timer.async_wait([this, pipe](const auto&) {
      const Piece piece = std::move(pipe->on_the_way.front());
      pipe->on_the_way.pop_front();
      boost::system::error_code failed;
      if (piece.bytes.empty()) {
        pipe->to.shutdown(Tcp::socket::shutdown_send, failed);
        return;
      }
      boost::asio::write(pipe->to, boost::asio::buffer(piece.bytes), failed);
      if (!pipe->on_the_way.empty()) Deliver(pipe);
    });
  }

  const Tcp::endpoint to_;
  const Duration delay_;
  boost::asio::io_context io_;
  Tcp::acceptor acceptor_{io_, Loopback(0)};
  std::thread thread_;
};

}  // namespace weir
