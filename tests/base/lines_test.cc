#include "base/files/lines.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

namespace {
bool memory_is_gone = false;
}  // namespace

// A file's stream calls one of these functions: fopen64, with GCC 14's library fopen. Without
// memory they fail like the C library's.
extern "C" FILE* fopen64(const char* path, const char* mode) {
  using Open = FILE* (*)(const char*, const char*);
  static const Open real = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "fopen64"));
  if (!memory_is_gone) return real(path, mode);
  errno = ENOMEM;
  return nullptr;
}
extern "C" FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

namespace strata {
namespace {

// Yields "one\ntwo", then throws `Exception`.
template <typename Exception>
class EndsByThrowing : public std::streambuf {
 public:
  explicit EndsByThrowing(Exception exception) : exception_(exception) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

 protected:
  int_type underflow() override { throw exception_; }

 private:
  Exception exception_;
  std::string text_ = "one\ntwo";
};

TEST(Lines, AreReadToTheEnd) {
  std::istringstream text("one\n\ntwo\r\nlast");
  std::vector<std::string> lines;
  for (std::string line; read_line(text, line);) lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two\r", "last"}));
}

TEST(Lines, AFailedAllocationIsNotTheEnd) {
  EndsByThrowing buffer{std::bad_alloc()};
  std::istream text(&buffer);
  std::string line;
  EXPECT_TRUE(read_line(text, line));
  EXPECT_EQ(line, "one");
  EXPECT_THROW(read_line(text, line), std::bad_alloc);
}

TEST(Lines, AReadErrorEndsTheLines) {
  EndsByThrowing buffer{std::ios_base::failure("no such device")};
  std::istream text(&buffer);
  std::string line;
  EXPECT_TRUE(read_line(text, line));
  EXPECT_FALSE(read_line(text, line));
  EXPECT_FALSE(read_line(text, line));
}

TEST(OpenToRead, AFailedAllocationDoesNotCountAsAMissingFile) {
  const std::string path = std::string(STRATA_SOURCE_DIR) + "/CMakeLists.txt";
  EXPECT_TRUE(open_to_read(path).is_open());
  EXPECT_FALSE(open_to_read(path + ".none").is_open());
  EXPECT_EQ(first_line(path + ".none"), "");
  memory_is_gone = true;
  EXPECT_THROW(open_to_read(path), std::bad_alloc);
  EXPECT_THROW(first_line(path), std::bad_alloc);
  memory_is_gone = false;
  EXPECT_FALSE(first_line(path).empty());
}

}  // namespace
}  // namespace strata
