#include "relay/plugins/plugin_runner.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace weir {
namespace {

// The most lines of one write. A pipe takes 64 KiB, about as much as these lines.
constexpr size_t kMostPieces = 128;
// The reads after the end of the process. A pipe holds no more than one or two of them; a process that the plugin has
// started may write on.
constexpr int kLastReads = 4;
// The longest time between the end of a process's output and its end.
constexpr std::chrono::milliseconds kLongestEnd{10};

bool IsReadable(const pollfd& polled) { return (polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0; }

}  // namespace

void PluginRunner::Write() {
  std::array<iovec, kMostPieces> pieces;
  while (process_.input().is_open() && dialogue_.has_output()) {
    const size_t count = dialogue_.NextOutput(pieces);
    const ssize_t written = ::writev(process_.input().number(), pieces.data(), static_cast<int>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // the pipe is full; or the process has closed it, and Read reports its end
    dialogue_.NoteWritten(static_cast<size_t>(written));
  }
}

void PluginRunner::AppendTo(std::vector<pollfd>* polled) const {
  // poll() ignores negative descriptors.
  const int input = dialogue_.has_output() ? process_.input().number() : -1;
  polled->push_back({.fd = input, .events = POLLOUT, .revents = 0});
  polled->push_back({.fd = process_.output().number(), .events = POLLIN, .revents = 0});
  polled->push_back({.fd = process_.error().number(), .events = POLLIN, .revents = 0});
  polled->push_back({.fd = process_.end(), .events = POLLIN, .revents = 0});
}

bool PluginRunner::Read(std::span<const pollfd> polled, std::span<char> buffer, TimePoint now) {
  if (IsReadable(polled[2])) ReadError(buffer);
  const bool is_over = (polled[0].revents & POLLERR) != 0 || IsReadable(polled[3]);
  bool is_open = !IsReadable(polled[1]) || ReadOutput(buffer, now);
  for (int i = 0; is_over && is_open && i < kLastReads; ++i) is_open = ReadOutput(buffer, now);
  if (is_over) ReadError(buffer);
  return is_open && !is_over;
}

// Returns false at the end of the output.
bool PluginRunner::ReadOutput(std::span<char> buffer, TimePoint now) {
  const ssize_t size = ::read(process_.output().number(), buffer.data(), buffer.size());
  if (size > 0) dialogue_.Hear({buffer.data(), static_cast<size_t>(size)}, now);
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

void PluginRunner::ReadError(std::span<char> buffer) {
  const ssize_t size = ::read(process_.error().number(), buffer.data(), buffer.size());
  if (size > 0) return LogLines({buffer.data(), static_cast<size_t>(size)});
  if (size == 0) process_.CloseError();
}

void PluginRunner::LogLines(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    log_line_.append(piece.substr(0, kMostLogLine - log_line_.size()));
    if (end == bytes.npos) return;
    if (!log_line_.empty()) health_.Log(log_line_);
    log_line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void PluginRunner::CloseInput(TimePoint now) {
  if (input_closed_) return;
  process_.CloseInput();
  input_closed_ = now;
}

bool PluginRunner::WaitForEnd(std::chrono::milliseconds longest) const {
  pollfd end{.fd = process_.end(), .events = POLLIN, .revents = 0};
  return end.fd >= 0 && ::poll(&end, 1, static_cast<int>(longest.count())) > 0;
}

std::string PluginRunner::WhyOver() const {
  const bool is_known = process_.end() >= 0;
  return is_known && !WaitForEnd(kLongestEnd) ? "has closed its input or output, and" : "";
}

}  // namespace weir
