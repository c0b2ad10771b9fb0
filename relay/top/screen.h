// Screen: a grid of cells that texts are put into, and how it is told to a terminal or to a pipe.
//
//   Screen screen(80, 24, Charset::kUtf8);
//   size_t column = screen.Put(0, 1, state.name, Ink::kStrong);
//   screen.Put(0, column + 2, state.summary, Ink::kPlain, 40);   // in 40 cells at most, cut with a …
//
// Texts are strangers' (names, addresses, reasons): nothing gets into a cell but a character that takes one cell or
// two. So no text can move the cursor, turn the reading order or reach over its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// ASCII: what is beyond is shown by something that looks like it, or a question mark. UTF-8 needs a locale that has it.
enum class Charset : uint8_t { kUtf8, kAscii };

enum class Ink : uint8_t {
  kPlain,
  kStrong,
  kSoft,
  kMarked,
  kWrite,  // the classes of work
  kBulk,
  kRead,
  kNear,  // a level that is
  kOver,
  kCalm,  // moods
  kLimiting,
  kAlarm,
};

// The characters of a text as they are shown: what is none, or a control, as '?'; what takes no cell is left out.
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
  // Returns the column behind it. What does not fit into the cells, or the line, is cut. Rows below the last are
  // nobody's.
  size_t Put(size_t row, size_t column, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  // So that it ends before the column.
  void PutRight(size_t row, size_t end, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  void Colour(size_t row, size_t column, size_t cells, Ink ink);
  // Rows of another, from one of them on, from a row of this on.
  void Copy(const Screen& from, size_t first, size_t rows, size_t row, size_t column = 0);

  // As text, without the blanks at the ends of lines.
  std::vector<std::string> Lines() const;
  // As a terminal draws it over what it shows, from its first row on.
  std::string Frame(bool colours) const;

 private:
  struct Cell {
    char32_t shown = U' ';  // 0: the right half of the one before
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

// A text in lines of at most so many cells, broken at blanks where that is possible.
std::vector<std::string> Wrapped(std::string_view text, size_t cells, Charset charset);

}  // namespace weir
