"""Writes wordpiece.json and wordpiece_vocab.txt: what transformers' BertTokenizer makes of awkward text.

  python wordpiece.py --vocab vocab.txt

The vocabulary of the test is a small part of BERT's uncased vocab.txt: what the cases need. The limit of
200 characters a word is that of the BERT and MLPerf code; transformers' own default is 100.
"""

import argparse
import json
import pathlib

from transformers.models.bert.tokenization_bert_legacy import BasicTokenizer, WordpieceTokenizer

LONGEST_WORD = 200

CASES = {
    "plain": "In the beginning God created the heaven and the earth.",
    "pieces": "unaffable righteousness firmament multitudes begat",
    "accents": "Ré́sumé naïve Ångström ÇA VA? ﬁne Ñandú",
    "german": "STRASSE Straße GRÖẞE über",
    "turkish dotted I": "İstanbul DIŞI ıIİi",
    "greek final sigma": "ΟΔΟΣ ΣΟΦΟΣ. ΣΑΣ' Σ ΑΣΑ ΑΣ\u00adΑ Ⅶ.Σ",
    "chinese": "我们 love天地and地球",
    "compatibility ideographs": "a\u8c48b\uf900c\U0002f800d\U00020000e",
    "japanese and korean": "こんにちは世界 カタカナ 한국어 가",
    "thai": "สวัสดีชาวโลก",
    "hindi": "नमस्ते दुनिया",
    "arabic with marks": "مُحَمَّد السلام عليكم",
    "hebrew with points": "בְּרֵאשִׁית בָּרָא",
    "emoji": "hello 👋🏽 world 👨\u200d👩\u200d👧 ❤️!",
    "punctuation": "don't—stop… «no» (yes) $5.00 a_b @x #1 ^~`|<>=+ ¿qué? 「は」",
    "control characters": "a\x00b\x01c\x07d\x0be\x0cf\x1fg\x7fh\x85i\ufffdj",
    "tabs and carriage returns": "one\ttwo\rthree  four",
    "zero width": "a\u200bb\u200cc\u200dd\ufeffe\u2060f",
    "unicode spaces": "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u202fg",
    "soft hyphen": "be\u00adgin\u00adning",
    "combining marks only": "\u0301\u0308 a\u0301\u0308\u0323",
    "word of 100": "a" * 100,
    "word of 101": "a" * 101,
    "word of 200": "a" * 200,
    "word of 201": "a" * 201,
    "word of 200 after accents": "a\u0301" * 200 + " and",
    "unknown characters": "the ꙮ thing 𝔘𝔫𝔦 earth",
    "special tokens in text": "[CLS] the [MASK] and [SEP] [unused1] [UNK]",
    "digits and fractions": "1,000.5 ½ ² Ⅷ ٣ 10th",
    "empty": "",
    "only spaces": " \t \u00a0 ",
    "only dropped": "\x00\u200b\ufffd",
}

BYTES = {
    "lone continuation": b"the \x80 earth\xbf.",
    "overlong": b"a\xc0\xafb\xe0\x80\xafc\xf0\x80\x80\xafd",
    "surrogate": b"a\xed\xa0\x80b",
    "beyond unicode": b"a\xf4\x90\x80\x80b\xf5c\xffd",
    "cut short": b"earth \xe4\xb8",
    "cut short before a letter": b"\xe4\xb8the \xf0\x9f\x91and \xc3(",
    "cut short before a lead": b"\xe4\xe4\xb8\xad\xf0\x9f\xc3\xa9",
}


def tokenize(text, vocabulary):
    basic = BasicTokenizer(do_lower_case=True, never_split=[])
    pieces = WordpieceTokenizer(vocabulary, "[UNK]", LONGEST_WORD)
    return [piece for word in basic.tokenize(text) for piece in pieces.tokenize(word)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab", required=True, help="BERT's uncased vocab.txt")
    folder = pathlib.Path(__file__).parent
    full = pathlib.Path(parser.parse_args().vocab).read_text(encoding="utf-8").split("\n")[:-1]
    cases = {name: text.encode() for name, text in CASES.items()} | BYTES
    decoded = {name: data.decode("utf-8", "ignore") for name, data in cases.items()}

    needed = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    for text in decoded.values():
        needed.update(tokenize(text, set(full)))
    entries = [entry for entry in full if entry in needed]
    ids = {entry: i for i, entry in enumerate(entries)}
    (folder / "wordpiece_vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    golden = [
        {"name": name, "bytes": data.hex(), "ids": [ids[piece] for piece in tokenize(decoded[name], ids)]}
        for name, data in cases.items()
    ]
    lines = ",\n".join(json.dumps(case) for case in golden)
    (folder / "wordpiece.json").write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
