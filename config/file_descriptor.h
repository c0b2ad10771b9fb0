// Descriptor: closes a descriptor of a file or pipe when it is destroyed.
#pragma once

#include <string_view>
#include <utility>

namespace weir {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { Close(); }
  // Moving swaps the descriptors of the two objects.
  Descriptor(Descriptor&& other) noexcept { *this = std::move(other); }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  void Close();
  int number() const { return number_; }  // -1 if there is none
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Writes all bytes to a file that blocks. Returns false if that fails; errno says why.
bool WriteAll(int file, std::string_view bytes);

}  // namespace weir
