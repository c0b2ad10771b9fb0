#include "relay/observe/trace/span.h"

#include <new>

#include "relay/observe/trace/tracer.h"

namespace weir {

struct Span::Open {
  Open(std::shared_ptr<Tracer> t, SpanData d) : tracer(std::move(t)), data(std::move(d)) {}
  ~Open() { End(); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  void End() {
    if (const auto to = std::exchange(tracer, nullptr)) to->Take(std::move(data));
  }

  std::shared_ptr<Tracer> tracer;  // null: ended
  SpanData data;
  size_t children = 0;
};

Span::Span(std::shared_ptr<Tracer> tracer, SpanData data)
    : open_(std::make_shared<Open>(std::move(tracer), std::move(data))) {}

Span Span::BeginChild(std::string_view name) const noexcept {
  if (open_->tracer == nullptr || open_->children == kMostChildren) return {};
  ++open_->children;
  return open_->tracer->BeginChild(open_->data, name);
}

void Span::Set(std::string_view key, int64_t value) const noexcept {
  if (!open_) return;
  try {
    open_->data.attributes.emplace_back(key, value);
  } catch (const std::bad_alloc&) {
  }
}

void Span::Set(std::string_view key, std::string_view text) const noexcept {
  if (!open_) return;
  try {
    std::string plain(text.substr(0, kMostText));
    for (char& c : plain)
      if (c < ' ' || c > '~') c = '?';
    open_->data.attributes.emplace_back(key, std::move(plain));
  } catch (const std::bad_alloc&) {
  }
}

void Span::Fail() const noexcept {
  if (open_) open_->data.failed = true;
}

void Span::EndOpen() noexcept { std::exchange(open_, nullptr)->End(); }

}  // namespace weir
