#!/usr/bin/env python3
"""Lists the texts that users read, so that a reviewer can read all of them in one go.

messages.txt has the messages of the program and of the shell scripts: errors, warnings, notes, findings, progress
lines and the words around printed figures. help.txt has the descriptions of commands, options and configuration keys.
Both are grouped by source file and sorted. They have no line numbers, so that moved code does not change them.

A C++ string literal is listed if a call that shows text to users gets it, or if it reads as prose, because functions
return parts of messages. Adjacent literals are one text. Operands of + are one text too, in which {} stands for each
operand that is no literal. A string of a shell script is listed if a command that prints gets it and it is prose.

  list_messages.py --update   writes both lists
  list_messages.py --check    fails if a list differs from the source

The script reads scripts/ and each top folder of the source tree that has a CMakeLists.txt. It needs no git.
"""
import argparse
import difflib
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = pathlib.Path(__file__).resolve().parent
SUFFIXES = {".cc", ".h", ".cu", ".cuh", ".sh"}
FOLDERS_WITHOUT_MESSAGES = {"tests", "examples"}
FILES_WITHOUT_MESSAGES = {"cli/manual/completion.cc"}  # its texts are programs for shells

# Users read every argument of these calls, even a single word.
MESSAGE_CALLS = {"fail", "Error", "ReadError", "print", "print_to_stderr", "fputs", "fprintf", "warn", "note", "say",
                 "say_text", "report", "progress", "Progress", "refuse", "refuse_standard_output"}
# The arguments of these calls that users read as help. Each first argument is a name.
NAMED_HELP_CALLS = {"add_option", "add_flag", "add_subcommand", "set_version_flag", "key", "section"}
HELP_CALLS = NAMED_HELP_CALLS | {"footer", "description", "App", "app", "add_config_options"}
HELP_NAME = re.compile(r"(help|description)s?_?\s*$", re.IGNORECASE)
# These calls pass their arguments on.
TRANSPARENT_CALLS = {"format", "string", "string_view", "move", "names_output", "required", ""}
# Users do not read the arguments of these calls.
OTHER_CALLS = {"static_assert", "asm", "volatile", "deprecated"}

# Every alternative begins with its own character, so that the search is fast.
TOKEN = re.compile(
    r"""
      "(?P<string>(?:[^"\\\n]|\\.)*)"
    | (?P<open>[({[])
    | (?P<close>[)}\]])
    | (?P<separator> [,;?=] | :: | : | << )
    | (?P<plus>\+(?![+=]))
    | '(?P<char>(?<!\w')(?:[^'\\\n]|\\.)+)'
    | /(?P<comment>/(?:[^\n\\]|\\.)*|\*.*?\*/)
    | \#(?P<directive>[ \t]*(?:if|ifdef|ifndef|elif|else|endif|error|pragma)\b(?:[^\n\\]|\\.)*)
    """,
    re.VERBOSE | re.DOTALL)
RAW_STRING = re.compile(r'R"([^\s()\\]{0,16})\((.*?)\)\1"', re.DOTALL)
NAME_BACKWARDS = re.compile(r"\w*[A-Za-z_]")
PROSE = re.compile(r"[A-Za-z}'\")\]][,:;.]? +[A-Za-z{'\"(\[]")
LETTER = re.compile(r"[A-Za-z]")
NO_WORDS = re.compile(r"\\[nt]|<[^<>]*>|\{[^{}]*\}|%[-.\d]*[a-z]")  # escapes, markup and formats
SKIPPED_LINES = re.compile(r"^[ \t]*(?://|#[ \t]*include).*\n", re.MULTILINE)

SHELL_STRING = r'"(?:[^"\\]|\\.)*"|' + r"'[^']*'"
SHELL_PRINT = re.compile(rf"(?<![\w$.-])(?:echo|printf|say|give_up)((?: +(?:{SHELL_STRING}))+)")
SHELL_COMMENT = re.compile(r"^[ \t]*#.*\n", re.MULTILINE)


class Frame:
    """An open bracket with the operands of the expression that is being read."""

    def __init__(self, source, position):
        self.source = source
        self.position = position
        self.opener = source[position:position + 1]
        self.argument = 0
        self.operands = [[]]  # of +; each has texts, and None for code
        self.has_text = False
        self.name = ""  # the code before "="

    @functools.cached_property
    def call(self):
        """The name before the bracket, or an empty text."""
        before = self.source[max(0, self.position - 80):self.position].rstrip()
        if before.endswith(">"):  # template arguments
            before = before[:before.rfind("<")]
        found = NAME_BACKWARDS.match(before[::-1])
        return found[0][::-1] if found else ""


def expression_text(operands):
    """Returns the text of operands joined by +, one of which has a literal."""
    texts = []
    for operand in operands:
        literals = [text for text in operand if text is not None]
        texts.append("".join(literals) if literals else None)
    return "".join("{}" if text is None else text for text in texts)


def plain_string(raw):
    """Returns a string literal with the text of a raw one."""
    text = raw[2].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


class Reader:
    def __init__(self):
        self.messages = set()
        self.help = set()
        self.frames = []

    def add(self, text):
        words = NO_WORDS.sub(lambda match: "{}" if match[0][0] in "{%" else " ", text)
        if not LETTER.search(words):
            return
        text = text.replace('\\"', '"')
        prose = PROSE.search(words)
        direct = True
        for frame in reversed(self.frames):
            if frame.call in OTHER_CALLS:
                return
            if frame.opener == "{" and frame.call == "" and HELP_NAME.search(frame.name):
                break
            if frame.call in MESSAGE_CALLS and (prose or direct):
                self.messages.add(text)
                return
            if frame.call in HELP_CALLS and (prose or direct):
                if frame.call not in NAMED_HELP_CALLS or frame.argument > 0:
                    self.help.add(text)
                return
            if frame.call not in TRANSPARENT_CALLS or frame.opener == "{":
                direct = False
        if prose:
            (self.help if HELP_NAME.search(self.frames[-1].name) else self.messages).add(text)

    def end_expression(self):
        frame = self.frames[-1]
        if frame.has_text:
            self.add(expression_text(frame.operands))
            frame.has_text = False
        frame.operands = [[]]

    def read(self, source):
        source = RAW_STRING.sub(plain_string, source)
        self.frames = [Frame("", 0)]
        end = 0
        for token in TOKEN.finditer(source):
            frame = self.frames[-1]
            between = source[end:token.start()]
            end = token.end()
            code = between and not between.isspace()
            if code:
                frame.operands[-1].append(None)
            kind = token.lastgroup
            if kind == "comment":
                continue
            if kind == "directive":
                self.end_expression()
            elif kind == "string":
                frame.operands[-1].append(token[kind])
                frame.has_text = True
            elif kind == "char":
                frame.operands[-1].append(None)
            elif kind == "open":
                if token["open"] == "{":
                    self.end_expression()
                self.frames.append(Frame(source, token.start()))
            elif kind == "close":
                if len(self.frames) > 1:
                    only_text = (frame.has_text and frame.opener == "(" and frame.argument == 0
                                 and len(frame.operands) == 1 and None not in frame.operands[0]
                                 and frame.call in ("string", "string_view"))
                    if not only_text:
                        self.end_expression()
                    self.frames.pop()
                    self.frames[-1].operands[-1].append("".join(frame.operands[0]) if only_text else None)
                    self.frames[-1].has_text |= only_text
                    if frame.opener == "{":
                        self.end_expression()
            elif kind == "plus":
                frame.operands.append([])
            elif token[0] == "::":
                frame.operands[-1].append(None)
            elif kind == "separator":
                self.end_expression()
                frame.name = between if token[0] == "=" else "" if token[0] == ";" else frame.name
                frame.argument += token[0] == ","
        self.end_expression()


def source_files():
    for folder in sorted(ROOT.iterdir()):
        if folder.name in FOLDERS_WITHOUT_MESSAGES:
            continue
        if folder.name == "scripts" or (folder / "CMakeLists.txt").is_file():
            yield from (file for file in sorted(folder.rglob("*")) if file.suffix in SUFFIXES)


def texts_of(file):
    """Returns the messages and the help texts of a source file."""
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".sh":
        texts = {text[1:-1].replace("\n", "\\n") for arguments in SHELL_PRINT.findall(SHELL_COMMENT.sub("", source))
                 for text in re.findall(SHELL_STRING, arguments, re.DOTALL)}
        return {text for text in texts if PROSE.search(NO_WORDS.sub(" ", text))}, set()
    reader = Reader()
    for definition in SKIPPED_LINES.sub("", source).split("\n}\n"):
        if '"' in definition:
            reader.read(definition)
    return reader.messages, reader.help


def make_lists():
    lists = {"messages.txt": [], "help.txt": []}
    for file in source_files():
        path = file.relative_to(ROOT).as_posix()
        if path in FILES_WITHOUT_MESSAGES:
            continue
        for name, texts in zip(lists, texts_of(file)):
            if texts:
                lists[name] += ["", path, *sorted({"  " + text.rstrip() for text in texts})]
    return {name: "\n".join(lines[1:]) + "\n" for name, lines in lists.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = arguments.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--update", action="store_true")
    update = arguments.parse_args().update
    differ = False
    for name, text in make_lists().items():
        path = LISTS / name
        if update:
            path.write_text(text, encoding="utf-8")
            continue
        listed = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != listed:
            differ = True
            sys.stdout.writelines(difflib.unified_diff(listed.splitlines(True), text.splitlines(True), name,
                                                       "the source", n=1))
    if differ:
        print("\nThe lists of messages differ from the source. Read the new texts, then run\n"
              "  tests/messages/list_messages.py --update")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
