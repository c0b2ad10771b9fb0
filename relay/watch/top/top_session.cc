#include "relay/watch/top/top_session.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include "relay/watch/top/plain_line.h"

namespace weir {
namespace {

// Returns the signals that the session handles: SIGWINCH and the signals of job control only if it draws a screen;
// otherwise these have their usual effect.
sigset_t SignalsOf(bool draws) {
  sigset_t set;
  sigemptyset(&set);
  // Leaves out the signals that are ignored already: nohup, and a shell for its background jobs, set this.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  if (draws)
    for (const int signal : {SIGWINCH, SIGTSTP, SIGCONT}) sigaddset(&set, signal);
  return set;
}

}  // namespace

// Calls isatty before it opens any file: if standard input is closed, the new file could get its descriptor.
TopSession::TopSession() : input_ended_(isatty(STDIN_FILENO) != 1) {
  const sigset_t set = SignalsOf(RawTerminal::IsThere());
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  news_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

TopSession::~TopSession() {
  close(signals_);
  close(news_);
}

void TopSession::Wake() {
  const uint64_t one = 1;
  (void)!write(news_, &one, sizeof(one));
}

void TopSession::Wait(Duration time, bool keys) {
  pollfd all[] = {{signals_, POLLIN, 0},
                  {news_, POLLIN, 0},
                  {STDOUT_FILENO, 0, 0},
                  {keys && !input_ended_ ? STDIN_FILENO : -1, POLLIN, 0}};
  const auto wait = [&all](Duration most) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(most).count();
    return poll(all, std::size(all), static_cast<int>(ms));
  };
  // Shows news at most five times a second, because a person cannot read faster.
  constexpr std::chrono::milliseconds kBetweenNews{200};
  if (had_news_) all[1].fd = -1;
  if (!had_news_ || wait(kBetweenNews) == 0) {
    all[1].fd = news_;
    wait(time);
  }
  had_news_ = (all[1].revents & POLLIN) != 0;
  uint64_t count = 0;
  (void)!read(news_, &count, sizeof(count));
  // If the reader of the output is gone, poll reports an error.
  if ((all[2].revents & (POLLERR | POLLHUP)) != 0) ended_ = true;
}

void TopSession::TakeSignals(RawTerminal* terminal) {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    switch (info.ssi_signo) {
      case SIGWINCH:
        anew_ = true;
        break;
      case SIGTSTP:
        Suspend(terminal);
        break;
      case SIGCONT:
        terminal->Enter();
        anew_ = true;
        break;
      default:
        ended_ = true;
    }
  }
}

// Stops the process by raising SIGTSTP and unblocking it for a moment. The kernel ignores the signal if there is no
// shell that could continue the process.
void TopSession::Suspend(RawTerminal* terminal) {
  terminal->Leave();
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  terminal->Enter();
  anew_ = true;
}

void TopSession::TakeKeys(Look* look, const Drawn& drawn) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (input_ended_ || poll(&input, 1, 0) != 1) return;
  std::array<char, 256> bytes{};
  const ssize_t size = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  input_ended_ = size <= 0;
  if (size <= 0) return;
  for (const KeyPress& key : keys_.Take({bytes.data(), static_cast<size_t>(size)})) Press(key, look, drawn);
}

void TopSession::Press(const KeyPress& key, Look* look, const Drawn& drawn) {
  using enum KeyPress::Kind;
  constexpr size_t kViews = kTopViewNames.size();
  const auto show = [look](size_t view) {
    look->view = static_cast<TopView>(view % kViews);
    look->help = false;
    look->scroll = 0;
  };
  const auto scroll = [&](size_t to) { look->scroll = std::min(to, drawn.furthest); };
  const size_t view = static_cast<size_t>(look->view);
  const size_t line = std::min(look->scroll, drawn.furthest);
  switch (key.kind) {
    case kUp:
      return scroll(line - std::min<size_t>(line, 1));
    case kDown:
      return scroll(line + 1);
    case kPageUp:
      return scroll(line - std::min(line, drawn.page));
    case kPageDown:
      return scroll(line + drawn.page);
    case kHome:
      return scroll(0);
    case kEnd:
      return scroll(drawn.furthest);
    case kLeft:
      return show(view + kViews - 1);
    case kRight:
      return show(view + 1);
    case kCharacter:
      break;
  }
  const char c = key.character;
  if (c >= '1' && c < '1' + static_cast<int>(kViews)) return show(static_cast<size_t>(c - '1'));
  if (c == '\t') return show(view + 1);
  if (c == 'k') return scroll(line - std::min<size_t>(line, 1));
  if (c == 'j') return scroll(line + 1);
  if (c == ' ') return scroll(line + drawn.page);
  if (c == 'q' || c == 'Q') ended_ = true;
  if (c == '\f') anew_ = true;
  if (c == '?' || c == 'h') {
    look->help = !look->help;
    look->scroll = 0;
  }
}

Status TopSession::ShowScreen(FeedFollower& follower, Look look) {
  RawTerminal terminal;
  terminal.Enter();
  const bool colours = RawTerminal::HasColours();
  while (!ended_) {
    const TerminalSize size = RawTerminal::SizeNow();
    look.width = size.columns;
    look.height = size.rows;
    const Drawn drawn = Draw(follower.Now(), look, Clock::System().Now());
    const std::string frame = (anew_ ? "\x1b[2J" : "") + drawn.screen.Frame(colours);
    const Result<Written> written = WriteOut(frame, signals_);
    if (!written.ok()) return written.status();
    ended_ = written.value() == Written::kNobodyReads;
    anew_ = written.value() == Written::kInterrupted;
    if (written.value() == Written::kAll) Wait(std::chrono::seconds(1), true);
    TakeSignals(&terminal);
    TakeKeys(&look, drawn);
  }
  return {};
}

Status TopSession::PrintLines(FeedFollower& follower, Charset charset,
                              const std::function<void(const std::string&)>& complain) {
  double printed = 0;
  Watched::Link link = Watched::Link::kLive;
  while (!ended_) {
    const Watched watched = follower.Now();
    if (watched.state.now.at != printed) {
      printed = watched.state.now.at;
      const Result<Written> written = WriteOut(PlainLine(watched.state, charset) + "\n", signals_);
      if (!written.ok()) return written.status();
      ended_ = written.value() != Written::kAll;
    }
    // Complains once for each change of the link.
    const bool is_live = watched.link == Watched::Link::kLive;
    if (watched.link != link) complain(is_live ? "goes on" : LinkInWords(watched, Clock::System().Now()));
    link = watched.link;
    if (!ended_) Wait(std::chrono::seconds(1), false);
    TakeSignals(nullptr);
  }
  return {};
}

}  // namespace weir
