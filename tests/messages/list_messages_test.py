#!/usr/bin/env python3
"""Tests how list_messages.py reads source files."""
import sys
import unittest

sys.dont_write_bytecode = True
from list_messages import Reader


def read(source):
    reader = Reader()
    reader.read(source)
    return reader.messages, reader.help


class ReaderTest(unittest.TestCase):
    def test_joins_adjacent_literals(self):
        self.assertEqual(read('fail("{}: is not\\n"\n     // why\n     " a file", path);')[0], {"{}: is not\\n a file"})

    def test_replaces_operands_without_literal(self):
        self.assertEqual(read('x = path + ": has " + std::to_string(n) + " rows";')[0], {"{}: has {} rows"})
        self.assertEqual(read('say(std::string("of ") + name);')[0], {"of {}"})

    def test_lists_alternatives_separately(self):
        self.assertEqual(read('fail("{}", found ? "empty" : "not there");')[0], {"empty", "not there"})

    def test_lists_single_words_of_message_calls_only(self):
        self.assertEqual(read('fail("aborted"); find("key"); fail("{}", counted(n, "rank"));')[0], {"aborted"})

    def test_lists_prose_wherever_it_stands(self):
        self.assertEqual(read('const char* reason() { return "it is damaged"; }')[0], {"it is damaged"})

    def test_passes_over_comments_characters_and_formats(self):
        self.assertEqual(read('// "no message here"\nchar c = \'"\'; int n = 1\'000; print("{:>9} {:.1f}\\n", c);'),
                         (set(), set()))

    def test_separates_help(self):
        self.assertEqual(read('app.add_option("--seed", seed, "Seed of the draws")->type_name("NUMBER");'),
                         (set(), {"Seed of the draws"}))
        self.assertEqual(read('key("seed", get, Maybe{"auto"}, fmt::format("Seed of {}", x));')[1], {"Seed of {}"})


if __name__ == "__main__":
    unittest.main()
