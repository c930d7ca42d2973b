// Tokens of the rule language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strata::compliance {

enum class TokenKind {
  kName,
  kInteger,
  kReal,
  kString,
  kOperator,  // also brackets and punctuation
  kNewline,   // ends a statement; `;` is an operator
  kIndent,
  kDedent,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // of a string: its decoded content
  int line = 1;      // both 1-based, within the fragment
  int column = 1;
};

// A piece of rule code that cannot be used, where in the fragment, and why.
struct SyntaxFault {
  int line = 1;
  int column = 1;
  std::string reason;
};

// Splits a fragment into tokens, the last of which is kEnd. Throws SyntaxFault.
std::vector<Token> tokenize(std::string_view code);

}  // namespace strata::compliance
