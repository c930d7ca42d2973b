#!/usr/bin/env python3
"""Compares a workbook that Strata wrote with the CSV of the same table: workbook_against_csv.py FILE.xlsx FILE.csv

Reads the archive's XML directly (ECMA-376). Every row of the CSV must be on its division's sheet, in order, cell by cell.
Counts and measurements must be numbers, all other cells text. There must be no formulas. The header must be frozen, with a
filter over all columns."""

import csv
import io
import re
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
TEXT_COLUMNS = {"division", "availability", "submitter", "system", "number_of_nodes", "host_processor_model_name",
                "accelerator_model_name", "framework", "notes", "private_id", "details_url", "code_url"}
NO_NUMBERS = {"inf", "-inf", "nan"}

archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
parts = {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist()}


def text_of(element):
    raw = "".join(t.text or "" for t in element.iter(MAIN + "t"))
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match.group(1), 16)), raw)


strings = [text_of(item) for item in parts["xl/sharedStrings.xml"]]
targets = {relation.get("Id"): relation.get("Target") for relation in parts["xl/_rels/workbook.xml.rels"]}


def place(reference):
    letters, row = re.fullmatch("([A-Z]+)([0-9]+)", reference).groups()
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(row) - 1, column - 1


def cells_of(sheet):
    assert not list(sheet.iter(MAIN + "f")), "a formula"
    cells = {}
    for cell in sheet.iter(MAIN + "c"):
        value = cell.find(MAIN + "v")
        if value is None:
            continue
        kind = cell.get("t", "n")
        assert kind in ("s", "n"), f"a cell of type {kind}"
        cells[place(cell.get("r"))] = strings[int(value.text)] if kind == "s" else float(value.text)
    return cells


def expected(column, text):
    if text == "":
        return None
    is_text = column in TEXT_COLUMNS or column.endswith(":RCP") or text in NO_NUMBERS
    if not is_text and re.fullmatch("-?[0-9]+", text) and abs(int(text)) > 2**53:
        is_text = True
    return text if is_text else float(f"{float(text):.16g}")


sheets = {}
for entry in parts["xl/workbook.xml"].find(MAIN + "sheets"):
    sheets[entry.get("name")] = parts["xl/" + targets[entry.get(RELATION)]]

# The CSV's tables, each with a header; weak scaling comes last.
tables = []
for row in csv.reader(io.StringIO(open(sys.argv[2], "rb").read().decode("utf-8", "replace"), newline="")):
    if row[0] == "division":
        tables.append((row, {}))
    else:
        division = row[0] if row[0] in ("closed", "open") else "other"
        tables[-1][1].setdefault(division, []).append(row)

seen, compared = [], 0
for header, divisions in tables:
    weak = " weak scaling" if any(":time_to_train_all" in column for column in header) else ""
    for division in ("closed", "open", "other"):
        rows = divisions.get(division, [])
        if division == "other" and not rows:
            continue
        name = division + weak
        seen.append(name)
        cells = cells_of(sheets[name])
        wanted = {(0, i): column for i, column in enumerate(header)}
        for r, row in enumerate(rows):
            assert len(row) == len(header)
            for i, text in enumerate(row):
                value = expected(header[i], text)
                if value is not None:
                    wanted[r + 1, i] = value
        for at in sorted(wanted.keys() | cells.keys()):
            mine, other = cells.get(at), wanted.get(at)
            assert type(mine) is type(other) and mine == other, f"{name} {at}: {mine!r}, the CSV has {other!r}"
            compared += 1
        pane = sheets[name].find(f"{MAIN}sheetViews/{MAIN}sheetView/{MAIN}pane")
        assert pane.get("ySplit") == "1" and pane.get("state") == "frozen", "the header is not frozen"
        first, last = map(place, sheets[name].find(MAIN + "autoFilter").get("ref").split(":"))
        assert first == (0, 0) and last == (len(rows), len(header) - 1), f"the filter is on {first} to {last}"
assert seen == list(sheets), f"sheets {list(sheets)}, wanted {seen}"
print(f"{compared} cells on {', '.join(seen)} agree")
