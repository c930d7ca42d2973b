#include "base/lines.h"

#include <gtest/gtest.h>

#include <new>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

namespace strata {
namespace {

// "one\ntwo", then what `Exception` says.
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

TEST(Lines, WithoutMemoryAreNoEnd) {
  EndsByThrowing buffer{std::bad_alloc()};
  std::istream text(&buffer);
  std::string line;
  EXPECT_TRUE(read_line(text, line));
  EXPECT_EQ(line, "one");
  EXPECT_THROW(read_line(text, line), std::bad_alloc);
}

TEST(Lines, EndWhereAFileCannotBeReadOn) {
  EndsByThrowing buffer{std::ios_base::failure("no such device")};
  std::istream text(&buffer);
  std::string line;
  EXPECT_TRUE(read_line(text, line));
  EXPECT_FALSE(read_line(text, line));
  EXPECT_FALSE(read_line(text, line));
}

}  // namespace
}  // namespace strata
