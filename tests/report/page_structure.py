"""Prints what a page holds, as Python's parser of HTML sees it. Exits with 1, saying why, for tags that do not close in order,
tags and attributes that a report has no need of, scripts that its policy does not allow, and links that lead elsewhere.
Prints the texts of the page, without its style sheet and script, a line each."""
import base64
import hashlib
import sys
from html.parser import HTMLParser

VOID = {'meta', 'link', 'input', 'br', 'wbr'}
TAGS = VOID | set('''html head title style body script a header h1 h2 h3 nav div ul li label select option button span main
section p figure figcaption table caption thead tbody tr th td svg g path circle rect text details summary footer code dl dt dd'''.split())
ATTRIBUTES = set('''lang charset http-equiv content name rel href class id tabindex role aria-label aria-labelledby for type
scope download value viewbox width height d x y cx cy r transform data-value data-system data-benchmark data-refresh
data-tag open'''.split())
problems = []


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.raw, self.texts, self.policy = [], {'style': [], 'script': []}, [], ''
        self.broken = False

    def handle_starttag(self, tag, attributes):
        if tag not in TAGS:
            problems.append(f'<{tag}>')
        for name, value in attributes:
            if name not in ATTRIBUTES:
                problems.append(f'{tag} {name}="{value}"')
            if name == 'href' and not value.startswith(('#', 'data:text/csv;', 'data:,')):
                problems.append(f'a link to {value[:60]}')
        found = dict(attributes)
        if found.get('http-equiv') == 'Content-Security-Policy':
            self.policy = found['content']
        if tag == 'svg' and not found.get('aria-label'):
            problems.append('a picture without words')
        self.broken = tag == 'wbr'
        if tag not in VOID:
            self.stack.append(tag)
        for raw in self.raw:
            if tag == raw:
                self.raw[raw].append('')

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            problems.append(f'</{tag}> closes nothing')

    def handle_data(self, data):
        if self.stack and self.stack[-1] in self.raw:
            self.raw[self.stack[-1]][-1] += data
        elif self.broken and self.texts:  # at a <wbr>
            self.texts[-1] += data
        elif data.strip():
            self.texts.append(data)
        self.broken = False

    def handle_comment(self, data):
        problems.append(f'<!--{data}-->')


page = Page()
page.feed(open(sys.argv[1], encoding='utf-8').read())
page.close()
if page.stack:
    problems.append(f'open at the end: {page.stack}')
directives = {words[0]: words[1:] for words in map(str.split, page.policy.split(';'))}
for kind, expected in (('style', 2), ('script', 1)):
    if len(page.raw[kind]) != expected:
        problems.append(f'{len(page.raw[kind])} of <{kind}>')
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.raw[kind]]
    if directives.get(f'{kind}-src') != [f"'sha256-{digest}'" for digest in digests]:
        problems.append(f'the policy does not allow its {kind} alone')
if "default-src 'none';" not in page.policy or 'unsafe' in page.policy:
    problems.append(f'the policy: {page.policy}')
for text in page.texts:
    print(' '.join(text.split()))
if problems:
    print('\n'.join(problems), file=sys.stderr)
    sys.exit(1)
