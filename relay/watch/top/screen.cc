#include "relay/watch/top/screen.h"

#include <wchar.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "config/text/utf8.h"

namespace weir {
namespace {

constexpr char32_t kUnshowable = U'?';

// The ASCII replacements of the characters that this program and the feed use.
constexpr std::pair<char32_t, std::string_view> kInAscii[] = {
    {U'–', "-"}, {U'—', "-"}, {U'…', "..."}, {U'→', "->"}, {U'←', "<-"}, {U'↑', "^"},  {U'↓', "v"},
    {U'·', "."}, {U'×', "x"}, {U'µ', "u"},   {U'“', "\""}, {U'”', "\""}, {U'„', "\""}, {U'‘', "'"},
    {U'’', "'"}, {U'─', "-"}, {U'│', "|"},   {U'▁', "_"},  {U'▂', "."},  {U'▃', "-"},  {U'▄', "~"},
    {U'▅', "="}, {U'▆', "+"}, {U'▇', "*"},   {U'█', "#"},
};

void AddInAscii(char32_t c, std::u32string* out) {
  const auto found = std::ranges::find(kInAscii, c, &std::pair<char32_t, std::string_view>::first);
  if (found == std::end(kInAscii)) return out->push_back(kUnshowable);
  out->append(found->second.begin(), found->second.end());
}

// Returns true for the soft hyphen (0xad), too, because some terminals show it and some do not.
bool IsUnsafe(char32_t c) { return IsUnsafeToShow(c) || c == 0xad; }

// Returns the text; if it takes more than `cells` cells, cuts it and ends it with … or ~.
std::u32string Cut(std::u32string shown, size_t cells, Charset charset) {
  if (WidthOf(shown) <= cells) return shown;
  const std::u32string more = charset == Charset::kUtf8 ? U"…" : U"~";
  size_t width = WidthOf(shown);
  while (!shown.empty() && width + 1 > cells) {
    width -= WidthOf(shown.back());
    shown.pop_back();
  }
  return cells == 0 ? U"" : shown + more;
}

std::string_view Code(Ink ink, bool colours) {
  struct Codes {
    std::string_view coloured;
    std::string_view plain;
  };
  static constexpr std::array<Codes, 12> kCodes = {{{"", ""},
                                                    {"1", "1"},
                                                    {"2", "2"},
                                                    {"7", "7"},
                                                    {"36", ""},
                                                    {"35", ""},
                                                    {"34;1", ""},
                                                    {"33;1", "1"},
                                                    {"31;1", "1"},
                                                    {"30;42", "7"},
                                                    {"30;43", "7"},
                                                    {"97;41;1", "7;1"}}};
  const Codes& codes = kCodes[static_cast<size_t>(ink)];
  return colours ? codes.coloured : codes.plain;
}

}  // namespace

size_t WidthOf(char32_t shown) {
  if (shown >= 0x20 && shown < 0x7f) return 1;
  const int width = wcwidth(static_cast<wchar_t>(shown));
  return width > 0 ? static_cast<size_t>(width) : 0;
}

size_t WidthOf(std::u32string_view shown) {
  size_t width = 0;
  for (const char32_t c : shown) width += WidthOf(c);
  return width;
}

std::u32string Shown(std::string_view text, Charset charset) {
  std::u32string shown;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char32_t c = length == 0 ? kUnshowable : Utf8Character(text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
    if (c < 0x7f || IsUnsafe(c)) {
      shown.push_back(IsUnsafe(c) ? kUnshowable : c);
    } else if (charset == Charset::kAscii) {
      AddInAscii(c, &shown);
    } else if (const int width = wcwidth(static_cast<wchar_t>(c)); width != 0) {
      shown.push_back(width < 0 || width > 2 ? kUnshowable : c);
    }
  }
  return shown;
}

std::string ShownText(std::string_view text, Charset charset) {
  std::string out;
  for (const char32_t c : Shown(text, charset)) AppendUtf8(c, &out);
  return out;
}

Screen::Screen(size_t width, size_t height, Charset charset)
    : width_(width), height_(height), charset_(charset), cells_(width * height) {}

// Replaces one cell. If it was one half of a wide character, the other half becomes a blank.
void Screen::Set(size_t row, size_t column, Cell cell) {
  if (At(row, column).shown == 0 && column > 0) At(row, column - 1).shown = U' ';
  if (column + 1 < width_ && At(row, column + 1).shown == 0) At(row, column + 1).shown = U' ';
  At(row, column) = cell;
}

size_t Screen::Put(size_t row, size_t column, std::string_view text, Ink ink, size_t cells) {
  if (row >= height_ || column >= width_) return column;
  for (const char32_t c : Cut(Shown(text, charset_), std::min(cells, width_ - column), charset_)) {
    Set(row, column++, {c, ink});
    if (WidthOf(c) == 2) Set(row, column++, {0, ink});
  }
  return column;
}

void Screen::PutRight(size_t row, size_t end, std::string_view text, Ink ink, size_t cells) {
  cells = std::min(cells, end);
  const size_t width = std::min(cells, WidthOf(Shown(text, charset_)));
  Put(row, end - width, text, ink, cells);
}

void Screen::Colour(size_t row, size_t column, size_t cells, Ink ink) {
  if (row >= height_) return;
  for (; cells > 0 && column < width_; --cells, ++column) At(row, column).ink = ink;
}

void Screen::Copy(const Screen& from, size_t first, size_t rows, size_t row, size_t column) {
  if (column >= width_) return;
  const size_t cells = std::min(from.width_, width_ - column);
  for (; rows > 0 && first < from.height_ && row < height_; --rows, ++first, ++row) {
    for (size_t i = 0; i < cells; ++i) At(row, column + i) = from.At(first, i);
    if (cells < from.width_ && cells > 0 && from.At(first, cells).shown == 0) At(row, column + cells - 1).shown = U' ';
  }
}

std::vector<std::string> Screen::Lines() const {
  std::vector<std::string> lines(height_);
  for (size_t row = 0; row < height_; ++row) {
    for (size_t column = 0; column < width_; ++column)
      if (const char32_t c = At(row, column).shown; c != 0) AppendUtf8(c, &lines[row]);
    lines[row].erase(lines[row].find_last_not_of(' ') + 1);
  }
  return lines;
}

std::string Screen::Frame(bool colours) const {
  std::string frame = "\x1b[H";
  for (size_t row = 0; row < height_; ++row) {
    if (row > 0) frame += "\r\n";
    std::string_view now;
    for (size_t column = 0; column < width_; ++column) {
      const Cell& cell = At(row, column);
      if (const std::string_view code = Code(cell.ink, colours); code != now) {
        frame.append(code.empty() ? "\x1b[0" : "\x1b[0;").append(code).append("m");
        now = code;
      }
      if (cell.shown != 0) AppendUtf8(cell.shown, &frame);
    }
    if (!now.empty()) frame += "\x1b[0m";
  }
  return frame;
}

std::vector<std::string> Wrapped(std::string_view text, size_t cells, Charset charset) {
  std::vector<std::string> lines;
  std::string line;
  size_t width = 0;
  cells = std::max<size_t>(cells, 1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t word_width = WidthOf(Shown(word, charset));
    if (!line.empty() && width + 1 + word_width > cells) {
      lines.push_back(std::exchange(line, ""));
      width = 0;
    }
    line.append(line.empty() ? "" : " ").append(word);
    width += word_width + (width > 0 ? 1 : 0);
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace weir
