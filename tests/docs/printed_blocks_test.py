#!/usr/bin/env python3
"""Blocks that agree with their commands pass; stale ones are named, and can be updated."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("printed_blocks.py")
PROGRAM = """#!/bin/sh
case "$*" in
  --help) printf 'Usage\\n\\nSubcommands:\\n  say    Say\\n' ;;
  'say --help') echo Usage ;;
  *) shift; printf '%s\\n' "$@" ;;
esac
"""


class PrintedBlocks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "source").mkdir()
        (self.folder / "source" / "words.txt").write_text("words of the tree\n")
        (self.folder / "strata").write_text(PROGRAM)
        (self.folder / "strata").chmod(0o755)

    def check(self, text, *options, name="page.md"):
        page = self.folder / name
        page.write_text(text)
        done = subprocess.run(
            [sys.executable, "-I", str(SCRIPT), *options, str(self.folder / "source"), str(self.folder / "strata"), str(page)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        return done.returncode, done.stdout

    def test_blocks_are_held_to_what_is_printed(self):
        cases = [
            # Marker, block, exit code.
            ("printed by: strata say one two", "    one\n    two\n", 0),
            ("printed by: strata say one two", "```text\none\ntwo\n```\n", 0),
            ("printed by: strata say one two", "\n    one\n    two\n\nAnd text.\n", 0),
            ("printed by: strata say one two", "    one\n", 1),
            ("printed by: strata say one", "    one\n    two\n", 1),
            ("printed by: strata say one", "    One\n", 1),
            ("printed by:\nstrata say one", "    one\n", 0),
            ("printed by: strata say 'a b 1.5 s' 2 3 end", "    a ... s\n    ...\n    end\n", 0),
            ("printed by: strata say 'a b 1.5 s' 2 3 end", "    a ... m\n    ...\n    end\n", 1),
            ("printed by: strata say 'a b 1.5 s' 2 3 end", "    a ... s\n    2\n    end\n", 1),
            ("printed, but for numbers, by: strata say 'a  1,250.5 s'", "    a 3 s\n", 0),
            ("printed, but for numbers, by: strata say 'a  1,250.5 s'", "    a 3 m\n", 1),
            ("printed, but for numbers, by: strata say 'a  1 2'", "    a 1\n", 1),
            ("printed, within 10 %, by: strata say 'a 105 s'", "    a 100 s\n", 0),
            ("printed, within 10 %, by: strata say 'a 111 s'", "    a 100 s\n", 1),
            ("printed, more or less, by: strata say a", "    a\n", 1),
            ("printed by: strata say one; exit 3", "    one\n", 0),
            ("printed by: no_such_program", "    one\n", 1),
            ("printed by: exit 77", "    one\n", 77),
            ("printed by: strata train x", "    one\n", 77),
            ("printed by: cat words.txt", "    words of the tree\n", 0),
            ("printed by: strata say one", "No block.\n", 1),
            ("printed with: strata say one, by", "    one\n", 1),
            ("prepared by: false", "", 1),
        ]
        for marker, block, expected in cases:
            with self.subTest(marker=marker, block=block):
                code, output = self.check(f"# Title\n\n<!-- {marker} -->\n{block}")
                self.assertEqual(code, expected, output)

    def test_a_command_reads_what_an_earlier_one_wrote(self):
        code, output = self.check("<!-- prepared by: echo x >file -->\n\n<!-- printed by: cat file -->\n\n    x\n")
        self.assertEqual(code, 0, output)
        self.assertIn("1 blocks agree", output)

    def test_comments_of_a_configuration_are_held_too(self):
        page = "a: 1\n# Two words are said:\n# printed by: strata say one two\n#     one\n#     two\nb: 2\n"
        self.assertEqual(self.check(page, name="a.yaml")[0], 0)
        self.assertEqual(self.check(page.replace("one\n", "uno\n"), name="a.yaml")[0], 1)

    def test_a_missing_subcommand_is_an_error_if_all_are_wanted(self):
        code, output = self.check("<!-- printed by: strata train x -->\n\n    one\n", "--all")
        self.assertEqual(code, 1)
        self.assertIn("no 'strata train'", output)

    def test_stale_blocks_are_updated_in_place(self):
        page = "<!-- printed by: strata say a b -->\n\n    old\n\nText.\n\n<!-- printed by: strata say c -->\n```\nold\nlines\n```\n"
        code, output = self.check(page, "--update")
        self.assertEqual(code, 0, output)
        updated = "<!-- printed by: strata say a b -->\n\n    a\n    b\n\nText.\n\n<!-- printed by: strata say c -->\n```\nc\n```\n"
        self.assertEqual((self.folder / "page.md").read_text(), updated)


if __name__ == "__main__":
    unittest.main()
