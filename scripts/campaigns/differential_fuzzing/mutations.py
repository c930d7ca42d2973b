"""Mutations of a log: of its lines, its events' fields, and its bytes. All draw from the generator they are given."""
import json

from logs import TOKEN

MOST_MUTATIONS = 5

ODD_VALUES = [
    "null", "true", "false", "NaN", "Infinity", "-Infinity", "-0", "0", "-0.0", "1", "-1", "1.0", "0.5", "0.72",
    "1e-9", "1e308", "1e309", "-1e400", "1e-400", "9223372036854775807", "9223372036854775808", "18446744073709551616",
    "9" * 30, "1" + "0" * 400, "1.0000049", "1.00001", "01", "+1", ".5", "1.", "1e", "0x10", "1_000", "nan", "None",
    "True", "'a'", '""', '" "', '"1"', '"0.5"', '" 7 "', '"1_000"', '"nan"', '"-inf"', '"1e3"', '"\\u0663"',
    '"\\u00e9"', '"\u00e9"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\n"', '"\\x"', '"\t"', '"a\\/b"',
    '"CLOSED"', '"Closed"', '"closed "', '"common"', '"open"', '"../common"', '"bert"', '"success"', '"aborted"',
    '"%s{}{0}"', '"' + "a" * 2000 + '"', "[]", "[0]", "[1, 2]", '["closed"]', "{}", '{"a": 1}', '{"a": 1, "a": 2}',
    '{"value": 1}', '{"BBOX": 0.5, "SEGM": 0.5}', '{"1": 2, "b": [null]}', "[[[]]]", "[1,]", "[1 2]", "{1: 2}", "{",
    "[", "", '"', "[" * 40 + "]" * 40, "[" * 700 + "]" * 700, '{"a":' * 30 + "1" + "}" * 30, "\u00a0", "/* */ 1",
    "1 // a",
]
ODD_KEYS = [
    '""', '" "', "null", "1", "[]", "{}", "true", '"\\u0073eed"', '"seed "', '"\u00e9"', '"\\ud800"', '"seed\\u0000"',
]
ODD_TIMES = [
    "0", "-1", "1e400", "-Infinity", "NaN", '"0"', '"1.2.3"', '" 12 "', '"1_0"', '"\\u0661"', "null", "true", "[]",
    '""', '"infinity"', "9" * 400, "1" + "0" * 308, "1700000000000.5", "9007199254740993", '"0x1"', "1e3", '"--1"',
]
LINE_ENDS = ["\n", "\r", "\r\n", "\n\r", "\x0b\n", "\x0c", "\x85\n", "\x1c\n", "\u00a0\n", " \t\n", ""]


def read_event(line):
    """(what stands before the record, its fields as [name, JSON text]) or None."""
    head, token, text = line.rpartition(TOKEN)
    try:
        record = json.loads(text) if token else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    return head + token, [[name, json.dumps(value)] for name, value in record.items()]


def write_event(head, fields):
    return head + "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields) + "}\n"


class Mutator:
    """Mutates logs with values that rules compare with, `rule_values`, and with lines of other logs."""

    def __init__(self, rng, rule_values, rule_keys, other_lines):
        self.rng = rng
        self.rule_values = rule_values
        self.rule_keys = rule_keys
        self.other_lines = other_lines
        self.of_lines = [
            self.drop, self.drop_key, self.repeat, self.swap, self.move, self.move, self.truncate, self.splice,
            self.insert_other, self.reverse_some, self.join, self.line_end, self.before_token, self.other_token,
        ]
        self.of_bytes = [self.change_byte, self.insert_bytes, self.delete_bytes]
        self.of_fields = [self.set_value] * 6 + [self.set_metadata] * 4 + [self.set_time] * 2 + [self.set_key] * 2 + [
            self.repeat_with_value] * 2 + [self.drop_field, self.repeat_field, self.add_field, self.shuffle_fields]

    def mutate(self, lines):
        lines = list(lines)
        for _ in range(min(MOST_MUTATIONS, 1 + int(self.rng.expovariate(0.9)))):
            kind = self.rng.random()
            mutations = self.of_fields if kind < 0.62 else self.of_lines if kind < 0.93 else self.of_bytes
            self.rng.choice(mutations)(lines)
            if not lines:
                break
        return "".join(lines)

    def place(self, lines):
        return self.rng.randrange(len(lines))

    # Mutations of lines.

    def drop(self, lines):
        del lines[self.place(lines)]

    def drop_key(self, lines):
        event = read_event(lines[self.place(lines)])
        key = dict(event[1]).get("key") if event else None
        if key:
            lines[:] = [line for line in lines if key not in line]

    def repeat(self, lines):
        line = lines[self.place(lines)]
        lines.insert(self.place(lines), line)

    def swap(self, lines):
        a, b = self.place(lines), self.place(lines)
        lines[a], lines[b] = lines[b], lines[a]

    def move(self, lines):
        line = lines.pop(self.place(lines))
        lines.insert(self.rng.randrange(len(lines) + 1), line)

    def truncate(self, lines):
        place = self.place(lines)
        lines[place:] = [lines[place][:self.rng.randrange(len(lines[place]) + 1)]]

    def splice(self, lines):
        other = self.other_lines(self.rng)
        lines[self.place(lines):] = other[self.rng.randrange(len(other)):]

    def insert_other(self, lines):
        lines.insert(self.place(lines), self.rng.choice(self.other_lines(self.rng)))

    def reverse_some(self, lines):
        first = self.place(lines)
        end = first + self.rng.randrange(2, 6)
        lines[first:end] = lines[first:end][::-1]

    def join(self, lines):
        place = self.place(lines)
        lines[place] = lines[place].rstrip("\r\n")

    def line_end(self, lines):
        end = self.rng.choice(LINE_ENDS)
        if self.rng.random() < 0.2:
            lines[:] = [line.rstrip("\r\n") + end for line in lines]
        else:
            place = self.place(lines)
            lines[place] = lines[place].rstrip("\r\n") + end

    def before_token(self, lines):
        place = self.place(lines)
        heads = ["0: ", "\ufeff".encode().decode("latin-1"), TOKEN, ":::MLLOG", "::", "{", "\t", "\r", "\x85", "\x0c"]
        head = self.rng.choice(heads)
        lines[place] = head + lines[place]

    def other_token(self, lines):
        place = self.place(lines)
        tokens = [":::MLLOG  ", ":::MLLOG", ":::MLLOG\t", ":::mllog ", ":::MLL ", ":::MLLOG \x0b", ":::MLLOG \r"]
        token = self.rng.choice(tokens)
        lines[place] = lines[place].replace(TOKEN, token)

    # Mutations of bytes.

    def in_line(self, lines):
        place = self.place(lines)
        return place, self.rng.randrange(len(lines[place]) + 1)

    def change_byte(self, lines):
        place, at = self.in_line(lines)
        lines[place] = lines[place][:at] + chr(self.rng.randrange(256)) + lines[place][at + 1:]

    def insert_bytes(self, lines):
        place, at = self.in_line(lines)
        text = self.rng.choice('"\\,:{}[] \x00\x1f\x7f\xff1e-.\n')
        lines[place] = lines[place][:at] + text + lines[place][at:]

    def delete_bytes(self, lines):
        place, at = self.in_line(lines)
        lines[place] = lines[place][:at] + lines[place][at + self.rng.randrange(1, 9):]

    # Mutations of an event's fields.

    def with_event(self, lines, change):
        place = self.place(lines)
        event = read_event(lines[place])
        if event:
            head, fields = event
            change(fields)
            lines[place] = write_event(head, fields)

    def set_field(self, lines, name, new_text):
        def change(fields):
            for field in fields:
                if field[0] == name:
                    field[1] = new_text(field[1])
        self.with_event(lines, change)

    def any_value(self, old):
        kind = self.rng.random()
        if kind < 0.4:
            return self.rng.choice(ODD_VALUES)
        if kind < 0.7 and self.rule_values:
            return self.near(self.rng.choice(self.rule_values))
        if kind < 0.9:
            return self.near(old)
        return self.rng.choice([f"[{old}]", json.dumps(old), f'{{"value": {old}}}', old + " ", old + "0", f"-{old}"])

    def near(self, text):
        """A number near one, or a text like one."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(value, str):
            likes = [value, value.upper(), value.title(), value + " ", value[:-1], value[::-1]]
            return json.dumps(self.rng.choice(likes))
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e300 < value < 1e300:
            return text
        step = self.rng.choice([0, 1, -1, 0.5, 1e-9, -1e-9, 1e-5, 9e-6, -value, value, 99 * value])
        return self.rng.choice([json.dumps(value + step), json.dumps(float(value)), json.dumps(str(value)), text])

    def set_value(self, lines):
        self.set_field(lines, "value", self.any_value)

    def set_key(self, lines):
        def any_key(old):
            return self.rng.choice([self.rng.choice(ODD_KEYS), json.dumps(self.rng.choice(self.rule_keys)),
                                    json.dumps(self.rng.choice(self.rule_keys)), old.upper(), old.title(), f"[{old}]"])
        self.set_field(lines, "key", any_key)

    def set_time(self, lines):
        def any_time(old):
            hours = self.rng.choice([-10, -1, -0.5, 0.33, 0.5, 1, 4, 10, 1000])
            shift = lambda text: str(int(float(text) + hours * 3_600_000))
            try:
                return self.rng.choice([self.rng.choice(ODD_TIMES), shift(old), shift(old)])
            except (ValueError, OverflowError):
                return self.rng.choice(ODD_TIMES)
        self.set_field(lines, "time_ms", any_time)

    def set_metadata(self, lines):
        def any_metadata(old):
            if self.rng.random() < 0.15:
                return self.rng.choice(ODD_VALUES)
            metadata = json.loads(old)
            if not isinstance(metadata, dict) or not metadata:
                return self.rng.choice(ODD_VALUES)
            members = [[name, json.dumps(value)] for name, value in metadata.items()]
            member = self.rng.choice(members)
            kind = self.rng.randrange(5)
            if kind == 0:
                members.remove(member)
            elif kind == 1:
                names = [member[0].upper(), member[0] + " ", "epoch_num", "status", "samples_count", ""]
                member[0] = self.rng.choice(names)
            elif kind == 2:
                members.append([member[0], self.rng.choice(ODD_VALUES)])
            else:
                member[1] = self.any_value(member[1])
            return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in members) + "}"
        self.set_field(lines, "metadata", any_metadata)

    def repeat_with_value(self, lines):
        place = self.place(lines)
        event = read_event(lines[place])
        if event:
            head, fields = event
            changed = [[name, self.any_value(text) if name == "value" else text] for name, text in fields]
            lines.insert(self.rng.choice([place, place + 1, self.place(lines)]), write_event(head, changed))

    def drop_field(self, lines):
        self.with_event(lines, lambda fields: fields and fields.pop(self.rng.randrange(len(fields))))

    def repeat_field(self, lines):
        def change(fields):
            name, text = self.rng.choice(fields)
            fields.insert(self.rng.randrange(len(fields) + 1), [name, self.rng.choice([text, self.any_value(text)])])
        self.with_event(lines, lambda fields: fields and change(fields))

    def add_field(self, lines):
        names = ["Value", "value ", "KEY", "extra", "", "time", "metadata\x00"]
        self.with_event(lines, lambda fields: fields.append([self.rng.choice(names), self.rng.choice(ODD_VALUES)]))

    def shuffle_fields(self, lines):
        self.with_event(lines, self.rng.shuffle)
