#include "compliance/language/parser/rule_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace strata::compliance {
namespace {

constexpr size_t kMaxIndents = 20;
constexpr size_t kMaxBrackets = 100;

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

constexpr std::array<std::string_view, 46> kOperators = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", "==", "!=", "<=", ">=", "->",
    "+=",  "-=",  "*=",  "/=",  "%=",  "|=", "&=", "^=", ":=", "<<", ">>", "+",
    "-",   "*",   "/",   "%",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",
    ".",   ";",   "=",   "<",   ">",   "|",  "&",  "^",  "~",  "@"};

class Lexer {
 public:
  explicit Lexer(std::string_view code) : code_(code) {}

  std::vector<Token> run() {
    bool line_start = true;
    for (;;) {
      if (line_start && brackets_ == 0) {
        if (!read_indentation()) continue;
        line_start = false;
      }
      skip_blanks();
      if (at_ == code_.size()) break;
      const char c = code_[at_];
      if (c == '#') {
        while (at_ < code_.size() && code_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        if (brackets_ == 0) {
          emit(TokenKind::kNewline, "");
          line_start = true;
        }
        next_line();
      } else if (c == '\\' && at_ + 1 < code_.size() && code_[at_ + 1] == '\n') {
        ++at_;
        next_line();
      } else if (is_name_start(c)) {
        read_name();
      } else if (is_digit(c) || (c == '.' && at_ + 1 < code_.size() && is_digit(code_[at_ + 1]))) {
        read_number();
      } else if (c == '"' || c == '\'') {
        read_string(c);
      } else {
        read_operator();
      }
    }
    if (brackets_ > 0) fail_here("a bracket is not closed");
    emit(TokenKind::kNewline, "");
    while (indents_.size() > 1) {
      indents_.pop_back();
      emit(TokenKind::kDedent, "");
    }
    emit(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  int column() const { return static_cast<int>(at_ - line_begin_) + 1; }
  [[noreturn]] void fail_here(std::string reason) const {
    throw SyntaxFault{line_, column(), std::move(reason)};
  }
  void emit(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_, column()});
  }
  void next_line() {
    ++at_;
    ++line_;
    line_begin_ = at_;
  }
  void skip_blanks() {
    while (at_ < code_.size() && (code_[at_] == ' ' || code_[at_] == '\t' || code_[at_] == '\r'))
      ++at_;
  }

  // False where the line is blank or a comment and has been skipped.
  bool read_indentation() {
    const size_t start = at_;
    while (at_ < code_.size() && code_[at_] == ' ') ++at_;
    const size_t width = at_ - start;
    if (at_ == code_.size()) return true;
    if (code_[at_] == '\t') fail_here("tabs in indentation are not supported");
    if (code_[at_] == '#') {
      while (at_ < code_.size() && code_[at_] != '\n') ++at_;
      if (at_ == code_.size()) return true;
    }
    if (code_[at_] == '\r' && at_ + 1 < code_.size() && code_[at_ + 1] == '\n') ++at_;
    if (code_[at_] == '\n') {
      next_line();
      return false;
    }
    if (width > indents_.back()) {
      if (indents_.size() > kMaxIndents) fail_here("blocks are nested too deeply");
      indents_.push_back(width);
      emit(TokenKind::kIndent, "");
    }
    while (width < indents_.back()) {
      indents_.pop_back();
      emit(TokenKind::kDedent, "");
    }
    if (width != indents_.back()) fail_here("indentation does not match any outer block");
    return true;
  }

  void read_name() {
    const size_t start = at_;
    const int start_column = column();
    while (at_ < code_.size() && is_name(code_[at_])) ++at_;
    const std::string_view name = code_.substr(start, at_ - start);
    if (at_ < code_.size() && (code_[at_] == '"' || code_[at_] == '\'')) {
      fail_here(fmt::format("string prefix '{}' is not supported", name));
    }
    tokens_.push_back({TokenKind::kName, std::string(name), line_, start_column});
  }

  void read_number() {
    const int start_column = column();
    bool real = false;
    std::string text;
    const auto take = [&] { text += code_[at_++]; };
    const auto digits = [&] {
      while (at_ < code_.size() && (is_digit(code_[at_]) || is_separator())) {
        if (code_[at_] == '_') {
          ++at_;
        } else {
          take();
        }
      }
    };
    digits();
    if (at_ < code_.size() && code_[at_] == '.') {
      real = true;
      take();
      digits();
    }
    if (at_ < code_.size() && (code_[at_] == 'e' || code_[at_] == 'E')) {
      real = true;
      take();
      if (at_ < code_.size() && (code_[at_] == '+' || code_[at_] == '-')) take();
      if (at_ == code_.size() || !is_digit(code_[at_]))
        fail_here("a number has no exponent digits");
      digits();
    }
    if (at_ < code_.size() && is_name(code_[at_]))
      fail_here("this form of number is not supported");
    tokens_.push_back(
        {real ? TokenKind::kReal : TokenKind::kInteger, std::move(text), line_, start_column});
  }

  // An underscore between two digits, as in 1_000.
  bool is_separator() const {
    return code_[at_] == '_' && at_ > 0 && is_digit(code_[at_ - 1]) && at_ + 1 < code_.size() &&
           is_digit(code_[at_ + 1]);
  }

  void read_string(char quote) {
    const int start_column = column();
    if (code_.substr(at_, 3) == std::string(3, quote))
      fail_here("triple-quoted strings are not supported");
    std::string text;
    ++at_;
    while (at_ < code_.size() && code_[at_] != quote) {
      char c = code_[at_];
      if (c == '\n') fail_here("a string is not closed");
      if (c == '\\') {
        c = ++at_ < code_.size() ? code_[at_] : '\0';
        constexpr std::string_view kFrom = "nrt\\'\"";
        constexpr std::string_view kTo = "\n\r\t\\'\"";
        const size_t index = kFrom.find(c);
        if (c == '\0' || index == kFrom.npos) fail_here("this escape in a string is not supported");
        c = kTo[index];
      }
      text += c;
      ++at_;
    }
    if (at_ == code_.size()) fail_here("a string is not closed");
    ++at_;
    tokens_.push_back({TokenKind::kString, std::move(text), line_, start_column});
  }

  void read_operator() {
    const auto* found =
        std::find_if(kOperators.begin(), kOperators.end(),
                     [&](std::string_view op) { return code_.substr(at_, op.size()) == op; });
    if (found == kOperators.end()) fail_here(fmt::format("unexpected character '{}'", code_[at_]));
    const char c = found->front();
    if (c == '(' || c == '[' || c == '{') {
      if (++brackets_ > kMaxBrackets) fail_here("brackets are nested too deeply");
    }
    if (c == ')' || c == ']' || c == '}') {
      if (brackets_ == 0) fail_here("a closing bracket has no opening bracket");
      --brackets_;
    }
    emit(TokenKind::kOperator, std::string(*found));
    at_ += found->size();
  }

  std::string_view code_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  int line_ = 1;
  size_t brackets_ = 0;
  std::vector<size_t> indents_ = {0};
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view code) { return Lexer(code).run(); }

}  // namespace strata::compliance
