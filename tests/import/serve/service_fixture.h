// A relay with the routes of imports and exports, and HTTP clients for it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "import/serve/import_answer.h"
#include "import/serve/import_service.h"
#include "relay/observe/metrics/metric_families.h"
#include "relay/relay.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/import/signed_events.h"

namespace weir {

using Headers = std::vector<std::pair<std::string, std::string>>;

// SlowCall: one request on a connection of its own, which the test sends and reads as slowly as it wants.
class SlowCall {
 public:
  SlowCall(uint16_t port, const std::string& method, const std::string& target, const Headers& headers) : socket_(io_) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    std::string head = method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n";
    for (const auto& [name, value] : headers) head.append(name).append(": ").append(value).append("\r\n");
    Send(head + "\r\n");
  }

  // Sends the bytes. Returns false if the server has closed the connection.
  bool Send(const std::string& bytes) {
    boost::system::error_code error;
    boost::asio::write(socket_, boost::asio::buffer(bytes), error);
    return !error;
  }
  bool SendChunk(const std::string& bytes) {
    std::ostringstream size;
    size << std::hex << bytes.size();
    return Send(size.str() + "\r\n" + bytes + "\r\n");
  }

  int Status() {
    boost::system::error_code error;
    while (!error && (!parser_ || parser_->get().result_int() == 100)) {
      parser_.emplace().body_limit(boost::none);
      boost::beast::http::read_header(socket_, buffer_, *parser_, error);
    }
    return error ? 0 : static_cast<int>(parser_->get().result_int());
  }
  std::string Header(const std::string& name) { return Status() == 0 ? "" : std::string(parser_->get()[name]); }

  // Returns the next line of the answer; nullopt at its end.
  std::optional<std::string> Line() {
    if (Status() == 0) return std::nullopt;
    size_t end = 0;
    while ((end = body_.find('\n')) == std::string::npos)
      if (!ReadSome()) return std::nullopt;
    std::string line = body_.substr(0, end);
    body_.erase(0, end + 1);
    return line;
  }
  // Returns the rest of the answer.
  std::string Rest() {
    if (Status() == 0) return "";
    while (ReadSome()) {
    }
    return std::exchange(body_, {});
  }
  // Returns true if the answer was complete. Call it after Rest.
  bool whole() const { return parser_->is_done(); }
  void HangUp() { socket_.close(); }
  // Closes the connection, as a client that crashes does. If another thread is sending, its Send fails.
  void Break() {
    boost::system::error_code ignored;
    socket_.shutdown(boost::asio::socket_base::shutdown_both, ignored);
  }

 private:
  bool ReadSome() {
    if (parser_->is_done()) return false;
    std::array<char, 16 << 10> piece;
    parser_->get().body().data = piece.data();
    parser_->get().body().size = piece.size();
    boost::system::error_code error;
    boost::beast::http::read_some(socket_, buffer_, *parser_, error);
    body_.append(piece.data(), piece.size() - parser_->get().body().size);
    return !error || error == boost::beast::http::error::need_buffer;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  using Parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;
  std::optional<Parser> parser_;
  std::string body_;
};

struct ImportAnswer {
  int status = 0;
  std::vector<ImportReject> rejects;
  ImportProgress last;
  bool done = false;
  std::string error;
  std::string words;  // the body of a refusal

  bool Take(const std::string& line) {
    const auto parsed = ParseAnswerLine(line);
    if (!parsed.ok()) return false;
    if (const auto* reject = std::get_if<ImportReject>(&parsed.value())) {
      rejects.push_back(*reject);
    } else if (const auto* progress = std::get_if<ImportProgress>(&parsed.value())) {
      EXPECT_GE(progress->lines, last.lines);
      EXPECT_EQ(progress->lines, progress->tally.read());
      last = *progress;
      done = progress->done;
    } else {
      error = std::get<ImportError>(parsed.value()).message;
    }
    return true;
  }
  // Takes lines of an answer until a progress meets the condition.
  void TakeUntil(SlowCall& call, const std::function<bool(const ImportProgress&)>& is_there) {
    while (!is_there(last)) {
      const auto line = call.Line();
      ASSERT_TRUE(line) << "the answer ended: " << error;
      ASSERT_TRUE(Take(*line)) << *line;
    }
  }
  void TakeRest(SlowCall& call) {
    while (const auto line = call.Line()) ASSERT_TRUE(Take(*line)) << *line;
  }
};

// Sends the body and reads the answer at the same time.
inline ImportAnswer PostImport(uint16_t port, const std::string& body, Headers headers = {},
                               const std::string& query = "", size_t piece_bytes = 0) {
  headers.emplace_back(piece_bytes > 0 ? "Transfer-Encoding" : "Content-Length",
                       piece_bytes > 0 ? "chunked" : std::to_string(body.size()));
  SlowCall call(port, "POST", "/api/import" + query, headers);
  std::thread sender([&] {
    if (piece_bytes == 0) {
      call.Send(body);
      return;
    }
    for (size_t at = 0; at < body.size(); at += piece_bytes)
      if (!call.SendChunk(body.substr(at, piece_bytes))) return;
    call.Send("0\r\n\r\n");
  });
  ImportAnswer answer;
  answer.status = call.Status();
  while (const auto line = call.Line())
    if (!answer.Take(*line)) answer.words += *line;
  sender.join();
  return answer;
}

// Lines to import, and the results that they must have in an empty database.
struct KnownLines {
  std::string text;
  Tally tally;
  std::vector<std::pair<uint64_t, LineOutcome>> rejects;  // line and outcome
  std::vector<std::string> rejected_texts;
  std::vector<std::string> stored;  // the JSON of the events that have to be stored

  void Add(const std::string& line, LineOutcome outcome, const std::string& end = "\n") {
    text += line + end;
    ++tally[outcome];
    if (outcome == LineOutcome::kImported) stored.push_back(line);
    if (!IsRejected(outcome)) return;
    rejects.emplace_back(tally.read(), outcome);
    rejected_texts.push_back(line + (end == "\r\n" ? "\r" : ""));
  }
};

inline std::string Forged(std::string note) {
  char& digit = note[note.size() - 3];
  digit = digit == '0' ? '1' : '0';
  return note;
}

// Returns lines of every kind; `first` numbers the notes.
inline KnownLines SomeOfEverything(uint64_t first, size_t notes) {
  KnownLines lines;
  std::string before;
  for (uint64_t i = 0; i < notes; ++i) {
    const std::string note = NoteLine(first + i);
    const std::string other = NoteLine(first + i + 1'000'000);
    if (i % 7 == 1) lines.Add("", LineOutcome::kBlank);
    if (i % 11 == 2) lines.Add("this is no event " + std::to_string(i), LineOutcome::kInvalid);
    if (i % 13 == 3) lines.Add(Forged(other), LineOutcome::kSignature, "\r\n");
    if (i % 17 == 4) lines.Add(NoteLine(first + i, 20001), LineOutcome::kNotStored);
    if (i % 19 == 5) lines.Add(before, LineOutcome::kDuplicate);
    if (i % 23 == 6) lines.Add(NoteLine(first + i, 1, "[]", 4'000'000'000), LineOutcome::kFuture);
    if (i % 29 == 7) lines.Add(std::string("{\"id\":\0}", 8), LineOutcome::kInvalid);
    if (i % 101 == 8) lines.Add(std::string(400'000 + i, 'x'), LineOutcome::kTooLong);
    lines.Add(note, LineOutcome::kImported, i % 5 == 0 ? "\r\n" : "\n");
    before = note;
  }
  return lines;
}

// Returns a metric. Asks the part itself, because /metrics may be a moment old. `name` has the form that it has there:
// name{label="value"}.
inline uint64_t MetricOf(const RelayPlugin& part, const std::string& name) {
  MetricFamilies families;
  part.AppendMetrics(families);
  for (const prometheus::MetricFamily& family : std::move(families).Take()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::string key = family.name;
      for (const auto& label : metric.label) key += "{" + label.name + "=\"" + label.value + "\"}";
      const bool counter = family.type == prometheus::MetricType::Counter;
      if (key == name) return static_cast<uint64_t>(counter ? metric.counter.value : metric.gauge.value);
    }
  }
  ADD_FAILURE() << "there is no " << name;
  return 0;
}
// Returns the table with this name that the part shows at /live.
inline LiveTable LiveTableOf(const RelayPlugin& part, std::string_view name) {
  LiveRates rates;
  LiveTables tables(rates);
  part.AppendLive(tables);
  for (LiveTable& table : std::move(tables).Take())
    if (table.name == name) return std::move(table);
  ADD_FAILURE() << "there is no table " << name;
  return {};
}
inline void WaitForMetric(const RelayPlugin& part, const std::string& name,
                          const std::function<bool(uint64_t)>& is_there) {
  EXPECT_TRUE(Eventually([&] { return is_there(MetricOf(part, name)); }))
      << name << " is still " << MetricOf(part, name);
}
// Waits until the value is above zero and has not changed for half a second. Returns it.
inline uint64_t WaitUntilStill(const RelayPlugin& part, const std::string& name) {
  uint64_t last = 0;
  int unchanged = 0;  // number of reads without a change, each at least 2 ms after the one before (eventually.h)
  WaitForMetric(part, name, [&](uint64_t now) {
    unchanged = now > 0 && std::exchange(last, now) == now ? unchanged + 1 : 0;
    return unchanged == 250;
  });
  return last;
}

// HeldPort: a port that belongs to this process while the object lives, even if nothing listens on it. The port is
// below the range from which the kernel assigns ports, and locked against other tests that run at the same time.
class HeldPort {
 public:
  HeldPort() {
    for (uint16_t port = 12'000 + static_cast<uint16_t>(getpid() % 8000); port < 32'000; ++port) {
      const std::string path = std::filesystem::temp_directory_path() / ("weir-test-port-" + std::to_string(port));
      lock_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
      if (lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0 && IsFree(port)) {
        port_ = port;
        return;
      }
      if (lock_ >= 0) close(lock_);
    }
    throw std::runtime_error("no port is free");
  }
  ~HeldPort() { close(lock_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  operator uint16_t() const { return port_; }

 private:
  static bool IsFree(uint16_t port) {
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor acceptor(io, boost::asio::ip::tcp::v4());
    acceptor.set_option(boost::asio::socket_base::reuse_address(true));
    boost::system::error_code error;
    acceptor.bind({boost::asio::ip::make_address("127.0.0.1"), port}, error);
    return !error;
  }

  int lock_ = -1;
  uint16_t port_ = 0;
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    configuration_.data_dir = directory_ / "data";
    configuration_.relay.admin_from_loopback = AdminFromLoopback::kTrue;  // most tests show no token
    configuration_.server.port = held_port_;
    configuration_.storage.rocksdb.sync = SyncMode::kOff;
    configuration_.storage.memory.target_memory_mb =
        4096;  // memory that the address sanitizer keeps after it is freed counts too
  }
  ~ServiceTest() override { Close(); }

  void Open() {
    std::filesystem::create_directories(configuration_.data_dir);
    service_ = std::make_unique<ImportService>();
    auto opened = Relay::Open(configuration_, false, {service_.get()});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    relay_ = std::move(opened).value();
    relay_->Accept();
  }
  void Close() {
    if (relay_) relay_->Shutdown(std::chrono::seconds(10));
    relay_.reset();
    service_.reset();
  }
  uint16_t port() const { return relay_->port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(configuration_.server.port); }

  std::string Get(const std::string& target, const Headers& headers = {}) {
    SlowCall call(port(), "GET", target, headers);
    std::string text = call.Rest();
    EXPECT_TRUE(call.whole());
    return text;
  }
  // Returns the stored events as lines of JSON, in the order of arrival.
  std::string Stored() { return Get("/api/export"); }
  static std::string Lines(const std::vector<std::string>& events) {
    std::string text;
    for (const std::string& event : events) text += event + "\n";
    return text;
  }

  uint64_t Metric(const std::string& name) const { return MetricOf(*service_, name); }
  void WaitForMetric(const std::string& name, const std::function<bool(uint64_t)>& is_there) const {
    weir::WaitForMetric(*service_, name, is_there);
  }

  const HeldPort held_port_;  // the relay has the same port when the test opens it again
  TempDirectory directory_;
  RelayConfiguration configuration_;
  std::unique_ptr<ImportService> service_;
  std::unique_ptr<Relay> relay_;
};

inline void ExpectRejects(const std::vector<ImportReject>& rejects, const KnownLines& expected) {
  ASSERT_EQ(rejects.size(), expected.rejects.size());
  for (size_t i = 0; i < rejects.size(); ++i) {
    EXPECT_EQ(rejects[i].line, expected.rejects[i].first);
    EXPECT_EQ(rejects[i].outcome, expected.rejects[i].second);
    EXPECT_FALSE(rejects[i].reason.empty());
  }
}

}  // namespace weir
