#include "relay/management/management_post.h"

#include <exception>
#include <utility>

#include "relay/account/work.h"
#include "relay/net/client_address.h"
#include "relay/nostr/signature.h"

namespace weir {

ManagementPost::ManagementPost(ManagementPostParts parts, HttpExchange& exchange)
    : parts_(std::move(parts)), post_(exchange.poster()), exchange_(&exchange) {}

void ManagementPost::OnBody(std::string_view piece) {
  if (exchange_ == nullptr) return;
  const size_t bytes = body_.size() + piece.size();
  if (bytes > ManagementMethods::kMostDocumentBytes)
    return Refuse(413, "a call may have " + std::to_string(ManagementMethods::kMostDocumentBytes) + " bytes");
  if (bytes > ManagementMethods::kMostCallBytes && document_ == nullptr) {
    document_ = parts_.documents.Take();
    if (document_ == nullptr) return Refuse(503, "another document is being taken; try again soon");
  }
  body_.append(piece);
}

void ManagementPost::OnBodyEnd() {
  if (exchange_ == nullptr) return;
  body_ended_ = true;
  const uint64_t group = GroupOf(parts_.address);
  const Work expected = kTurnWork + body_.size() * kParsedByteWork;
  parts_.pool.Submit(Urgency::kFair, {.id = group, .group = group}, expected, [self = shared_from_this()] {
    HttpResponse response = self->Execute();
    self->post_([self, response = std::move(response)]() mutable { self->Answer(std::move(response)); });
  });
}

// Runs on the worker.
HttpResponse ManagementPost::Execute() const {
  const std::string& payload = parts_.administrator.payload;
  if (!payload.empty() && ToHex(Sha256(body_)) != payload) {
    return ManagementRefusal(
        {.status = 401, .body = "Authorization was refused: its payload tag is not the SHA-256 of this body"});
  }
  try {
    return parts_.methods.Answer(body_, parts_.administrator, parts_.address);
  } catch (const std::exception& e) {
    return ManagementRefusal({.status = 500, .body = std::string("the relay met a fault: ") + e.what()});
  }
}

// A call that a worker executes is finished first.
void ManagementPost::OnShutdown() {
  if (!body_ended_) Refuse(503, "the relay is going down; nothing was changed");
}

void ManagementPost::OnEnd(std::string_view /*cause*/) { exchange_ = nullptr; }

void ManagementPost::Refuse(int status, std::string why) {
  Answer(ManagementRefusal({.status = status, .body = std::move(why)}));
}

void ManagementPost::Answer(HttpResponse response) {
  if (exchange_ == nullptr) return;
  for (const auto& header : parts_.headers) response.headers.push_back(header);
  answer_ = std::exchange(response.body, {});
  response.body = NextPiece();
  exchange_->Begin(response);
  SendRest();
}

std::string ManagementPost::NextPiece() {
  std::string piece = answer_.substr(sent_, HttpExchange::kAlwaysTaken);
  sent_ += piece.size();
  return piece;
}

// Waits for the client before each further piece. So a long list waits here, where parts_.slot counts it, and not in
// the server's output.
void ManagementPost::SendRest() {
  if (exchange_ == nullptr) return;
  if (sent_ == answer_.size()) return std::exchange(exchange_, nullptr)->End();
  exchange_->WhenPendingBelow(HttpExchange::kAlwaysTaken, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->exchange_ == nullptr) return;
    self->exchange_->Write(self->NextPiece());
    self->SendRest();
  });
}

}  // namespace weir
