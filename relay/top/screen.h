// Screen: a grid of cells that texts are put into, and its output for a terminal or a pipe.
//
//   Screen screen(80, 24, Charset::kUtf8);
//   size_t column = screen.Put(0, 1, state.name, Ink::kStrong);
//   screen.Put(0, column + 2, state.summary, Ink::kPlain, 40);   // in 40 cells at most, cut with a …
//
// Texts come from strangers (names, addresses, reasons), so only characters that take one cell or two get into a cell.
// No text can move the cursor, turn the reading order or reach over its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// kAscii shows other characters as similar ones, or as a question mark. kUtf8 needs a locale with UTF-8.
enum class Charset : uint8_t { kUtf8, kAscii };

enum class Ink : uint8_t {
  kPlain,
  kStrong,
  kSoft,
  kMarked,
  kWrite,  // the classes of work
  kBulk,
  kRead,
  kNear,  // levels: near the setpoint, and at it or over
  kOver,
  kCalm,  // moods
  kLimiting,
  kAlarm,
};

// The characters of a text as they are shown: '?' for a control or invalid UTF-8; characters without width are left
// out.
std::u32string Shown(std::string_view text, Charset charset);
// The same in UTF-8.
std::string ShownText(std::string_view text, Charset charset);
size_t WidthOf(char32_t shown);
size_t WidthOf(std::u32string_view shown);

class Screen {
 public:
  Screen(size_t width, size_t height, Charset charset);

  size_t width() const { return width_; }
  size_t height() const { return height_; }
  Charset charset() const { return charset_; }

  static constexpr size_t kAll = SIZE_MAX;
  // Returns the column behind the text. Text that does not fit into the cells, or the line, is cut. Rows below the last
  // are ignored.
  size_t Put(size_t row, size_t column, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  // Puts the text so that it ends before the column `end`.
  void PutRight(size_t row, size_t end, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  void Colour(size_t row, size_t column, size_t cells, Ink ink);
  // Copies rows of another screen, from its row `first` on, to `row` and `column` of this one.
  void Copy(const Screen& from, size_t first, size_t rows, size_t row, size_t column = 0);

  // Returns the screen as text, without the blanks at the ends of lines.
  std::vector<std::string> Lines() const;
  // Returns the output that draws the screen over a terminal's contents, from its first row on.
  std::string Frame(bool colours) const;

 private:
  struct Cell {
    char32_t shown = U' ';  // 0: the right half of the character before
    Ink ink = Ink::kPlain;
  };
  Cell& At(size_t row, size_t column) { return cells_[row * width_ + column]; }
  const Cell& At(size_t row, size_t column) const { return cells_[row * width_ + column]; }
  void Set(size_t row, size_t column, Cell cell);

  const size_t width_;
  const size_t height_;
  const Charset charset_;
  std::vector<Cell> cells_;
};

// Breaks a text at blanks into lines of at most `cells` cells. A longer word is not broken.
std::vector<std::string> Wrapped(std::string_view text, size_t cells, Charset charset);

}  // namespace weir
