#include "config/wire/http/http_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/none.hpp>
#include <boost/optional/optional.hpp>
#include <stdexcept>

#include "config/text/parse.h"
#include "config/wire/http/client_stream.h"

namespace weir {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;
using StreamError = ClientStream::Error;

constexpr uint32_t kMaxHeadBytes = 64 << 10;
constexpr size_t kMaxUnreadBytes = size_t{2} * kMaxHeadBytes;  // chunk extensions have no limit of their own

// Parses an answer into an HttpAnswer. If the call has an on_piece, passes the body of a 200 to on_piece instead.
class AnswerParser : public http::basic_parser<false> {
 public:
  AnswerParser(const HttpCall& call, HttpAnswer* answer) : call_(call), answer_(answer) {
    eager(true);
    skip(call.method == "HEAD");
    header_limit(kMaxHeadBytes);
    body_limit(boost::none);
  }

  bool goes_by_piece() const { return call_.on_piece && answer_->status == 200; }
  bool is_ended_by_call() const { return is_ended_by_call_; }
  bool is_too_large() const { return answer_->body.size() > call_.max_answer_bytes; }

 private:
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int, error_code&) override {}
  void on_response_impl(int status, beast::string_view, int, error_code&) override { answer_->status = status; }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value, error_code&) override {
    answer_->headers.emplace_back(name, value);
  }
  // Newer versions of Beast declare and call this function.
  void on_trailer_field_impl(http::field, beast::string_view, beast::string_view, error_code&) {}  // NOLINT
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(beast::string_view piece, error_code& error) override {
    if (!goes_by_piece()) {
      answer_->body.append(piece.data(), piece.size());
    } else if (!is_ended_by_call_ && !call_.on_piece(*answer_, {piece.data(), piece.size()})) {
      is_ended_by_call_ = true;
    }
    if (is_ended_by_call_ || is_too_large()) error = http::error::body_limit;  // ends the parsing
    return piece.size();
  }
  void on_chunk_header_impl(uint64_t, beast::string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view piece, error_code& error) override {
    return on_body_impl(piece, error);
  }
  void on_finish_impl(error_code&) override {}

  const HttpCall& call_;
  HttpAnswer* const answer_;
  bool is_ended_by_call_ = false;
};

std::string Message(const ServerUrl& url, const HttpCall& call, bool keep) {
  const bool usual_port = url.port == (url.tls ? "443" : "80");
  const std::string path = url.path + call.path;
  std::string message = call.method + " " + (path.empty() ? "/" : path) + " HTTP/1.1\r\nHost: " + UrlHost(url.host) +
                        (usual_port ? "" : ":" + url.port) + "\r\nUser-Agent: weir/" WEIR_VERSION "\r\n";
  if (!keep) message += "Connection: close\r\n";
  for (const auto& [name, value] : call.headers) message.append(name).append(": ").append(value).append("\r\n");
  if (!call.body.empty() || (call.method != "GET" && call.method != "HEAD"))
    message += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
  return message + "\r\n" + call.body;
}

// One request over a stream, and its answer.
class Exchange {
 public:
  Exchange(const ServerUrl& url, const HttpCall& call)
      : url_(url), call_(call), patience_{std::chrono::steady_clock::now() + call.timeout, call.stop} {}

  HttpAnswer Run(std::unique_ptr<ClientStream>* stream, bool keep) {
    std::unique_ptr<ClientStream> taken = std::move(*stream);  // closed after the call, unless reusable_
    try {
      HttpAnswer answer = Try(&taken, keep);
      if (reusable_) *stream = std::move(taken);
      return answer;
    } catch (const std::runtime_error& error) {  // the process cannot make another thread
      return Fail(error.what());
    }
  }

 private:
  HttpAnswer Try(std::unique_ptr<ClientStream>* stream, bool keep) {
    const ClientStream::Server server{
        .host = url_.host, .port = url_.port, .tls = url_.tls, .ca_file = call_.ca_file, .verify = call_.verify};
    if (*stream == nullptr || (*stream)->server() != server || (*stream)->IsSpent()) {
      *stream = std::make_unique<ClientStream>(server);
      if (const StreamError error = (*stream)->Connect(patience_)) {
        HttpAnswer failed = Failure(error);
        failed.nobody_listens = error.kind == StreamError::kNobodyListens;
        return failed;
      }
    }
    return Ask(**stream, keep);
  }

  static HttpAnswer Fail(std::string problem) { return {.problem = std::move(problem)}; }
  HttpAnswer Failure(const StreamError& error) const {
    if (error.kind != StreamError::kLate) return Fail(error.problem);
    return Fail("no answer from " + url_.Origin() + " within " +
                FormatNumber(static_cast<double>(call_.timeout.count()) / 1000) + " s");
  }
  HttpAnswer TooLarge() const {
    return Fail("the answer of " + url_.Origin() + " is larger than " + std::to_string(call_.max_answer_bytes) +
                " bytes");
  }

  HttpAnswer Ask(ClientStream& stream, bool keep) {
    // If sending fails, the server may still have sent an answer, which then says why.
    if (const StreamError sent = stream.Send(Message(url_, call_, keep), patience_); sent.kind == StreamError::kLate)
      return Failure(sent);
    HttpAnswer answer;
    auto parser = std::make_unique<AnswerParser>(call_, &answer);
    std::string unread;
    bool has_begun = false;
    while (true) {
      error_code wrong;
      if (!unread.empty()) unread.erase(0, parser->put(boost::asio::buffer(unread), wrong));
      if (parser->is_ended_by_call()) return answer;
      if (parser->is_too_large() || wrong == http::error::header_limit) return TooLarge();
      if (parser->is_done()) {
        if (answer.status / 100 != 1) break;
        answer = {};  // 103, for example: the final answer comes after it
        parser = std::make_unique<AnswerParser>(call_, &answer);
        continue;
      }
      if (wrong && wrong != http::error::need_more) return NoAnswer(wrong.message());
      if (unread.size() > kMaxUnreadBytes) return TooLarge();
      if (parser->is_header_done() && parser->goes_by_piece())
        patience_.end = std::chrono::steady_clock::now() + call_.timeout;
      const StreamError error = stream.Receive(&unread, patience_);
      if (error.kind == StreamError::kEnded && parser->got_some()) parser->put_eof(wrong);
      if (error.kind == StreamError::kEnded && parser->is_done()) break;
      if (error.kind == StreamError::kEnded || error.kind == StreamError::kCut)
        return Fail(url_.Origin() + " hung up " + (has_begun ? "before the end of its" : "without an") + " answer");
      if (error.kind == StreamError::kLate) return Failure(error);
      if (error) return NoAnswer(error.problem);
      has_begun = true;
    }
    reusable_ = keep && parser->keep_alive() && unread.empty();
    return answer;
  }
  HttpAnswer NoAnswer(const std::string& why) const {
    return Fail("no HTTP answer from " + url_.Origin() + ": " + why);
  }

  const ServerUrl& url_;
  const HttpCall& call_;
  ClientStream::Patience patience_;
  bool reusable_ = false;
};

}  // namespace

std::string_view HttpAnswer::Header(std::string_view name) const {
  for (const auto& [header, value] : headers)
    if (beast::iequals(header, name)) return value;
  return {};
}

HttpConnection::HttpConnection(ServerUrl url) : url_(std::move(url)) {}
HttpConnection::~HttpConnection() = default;

HttpAnswer HttpConnection::Ask(const HttpCall& call) { return Exchange(url_, call).Run(&stream_, true); }

HttpAnswer CallHttp(const ServerUrl& url, const HttpCall& call) {
  std::unique_ptr<ClientStream> stream;
  return Exchange(url, call).Run(&stream, false);
}

}  // namespace weir
