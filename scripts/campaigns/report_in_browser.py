#!/usr/bin/env python3
"""Uses every control of a page of `strata report` in a headless Chromium, at three widths, light and dark, and says how long
it took to open. Exits with 1 for an error on the console, a dialog, a request to anywhere, a page wider than its window, a
control that does nothing, text in pictures that is smaller than 11 pixels on a telephone or lies over other text, a system's
name that scrolls away, or a PDF of more than 25 pages.

    apt install chromium; python3 -m venv browser; browser/bin/pip install playwright
    browser/bin/python scripts/campaigns/report_in_browser.py report.html [--pictures FOLDER]

PAGE is a file, or the address that `strata report --watch` printed."""
import argparse
import pathlib
import re
import sys
import time

from playwright.sync_api import sync_playwright

WIDTHS = (1600, 1140, 400)
MOST_PAGES = 25


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('page')
    parser.add_argument('--pictures', type=pathlib.Path, help='a folder for screenshots and a PDF')
    parser.add_argument('--chromium', default='/usr/bin/chromium')
    options = parser.parse_args()
    address = options.page if '://' in options.page else pathlib.Path(options.page).resolve().as_uri()
    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=['--no-sandbox'])
        for width in WIDTHS:
            for theme in ('light', 'dark'):
                visit = Visit(browser, address, width, theme, options.pictures)
                problems += [f'{width}, {theme}: {problem}' for problem in visit.problems]
        browser.close()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


class Visit:
    """One look at the page, in a window of some width."""

    def __init__(self, browser, address, width, theme, pictures):
        self.problems = []
        context = browser.new_context(viewport={'width': width, 'height': 900}, accept_downloads=True, color_scheme=theme)
        self.page = page = context.new_page()
        own = address.split('/')[2]
        page.on('console', lambda message: self.problems.append(f'console: {message.text}'))
        page.on('pageerror', lambda error: self.problems.append(f'error: {error}'))
        page.on('dialog', lambda dialog: (self.problems.append(f'dialog: {dialog.message}'), dialog.dismiss()))
        page.on('request', lambda request: self.note_request(request.url, own))
        begin = time.monotonic()
        page.goto(address)
        # Waits until the page is drawn.
        page.evaluate('() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
        opened = time.monotonic() - begin
        self.expect(page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'the page is wider than its window')
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=pictures / f'{width}-{theme}.png', full_page=True)
        self.read_pictures(width)
        self.scroll_tables()
        for details in page.locator('details').all():
            details.locator('summary').click()
            self.expect(details.get_attribute('open') is not None, 'a summary does not open')
        tables = self.sort_and_filter()
        self.choose()
        self.change_theme()
        links = page.locator('a.data')
        with page.expect_download() as download:
            links.first.click()
        size = download.value.path().stat().st_size
        self.expect(size > 0, 'data are empty')
        self.use_keyboard()
        pdf = page.pdf(prefer_css_page_size=True)
        if pictures:
            (pictures / f'{width}-{theme}.pdf').write_bytes(pdf)
        pages = len(re.findall(rb'/Type /Page\b', pdf))
        self.expect(pages <= MOST_PAGES, f'the PDF has {pages} pages')
        print(f'{width} pixels: open after {opened:.2f} s; {tables} tables sorted and filtered; '
              f'{page.locator("svg").count()} pictures; {links.count()} links to data; {pages} printed pages')
        context.close()

    def note_request(self, url, own):
        if not url.startswith(('file:', 'data:', 'blob:', f'http://{own}/')):
            self.problems.append(f'asks for {url}')

    def expect(self, condition, problem):
        if not condition:
            self.problems.append(problem)

    def read_pictures(self, width):
        found = self.page.evaluate('''() => {
            const over = [];
            let least = Infinity;
            for (const svg of document.querySelectorAll('svg')) {
                const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                if (!scale) continue;
                least = Math.min(least, 12 * scale);
                const texts = Array.from(svg.querySelectorAll('text:not([transform])'), text => [text, text.getBoundingClientRect()]);
                texts.forEach(([text, a], i) => {
                    for (const [other, b] of texts.slice(i + 1)) {
                        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                        if (wide > 1 && high > 4) over.push(`"${text.textContent}" lies over "${other.textContent}"`);
                    }
                });
            }
            return {over, least};
        }''')
        self.problems += found['over'][:10]
        if width < 640:
            self.expect(found['least'] >= 11, f'text in pictures is {found["least"]:.1f} pixels high')

    def scroll_tables(self):
        moved = self.page.evaluate('''() => Array.from(document.querySelectorAll('.table .scroll')).filter(scroll => {
            const first = scroll.querySelector('tbody th'), before = first.getBoundingClientRect().left;
            scroll.scrollLeft = 200;
            const after = first.getBoundingClientRect().left;
            scroll.scrollLeft = 0;
            return Math.abs(after - before) > 12;
        }).length''')
        self.expect(moved == 0, f'{moved} tables scroll their first column away')

    def sort_and_filter(self):
        tables = self.page.locator('.table')
        for i in range(tables.count()):
            # One call for the whole table: a round's tables have hundreds of columns.
            self.expect(tables.nth(i).evaluate('''block => {
                const texts = column => Array.from(block.querySelectorAll('tbody tr'), row => row.cells[column].dataset.value
                    ?? row.cells[column].textContent);
                return Array.from(block.querySelectorAll('thead th'), (head, column) => {
                    const before = texts(column).slice().sort().join();
                    head.querySelector('button').click();
                    const rising = head.getAttribute('aria-sort') === 'ascending';
                    const numbers = texts(column).filter(text => text !== '' && !Number.isNaN(Number(text))).map(Number);
                    const inOrder = numbers.every((value, i) => i === 0 || numbers[i - 1] <= value);
                    head.querySelector('button').click();
                    const falling = head.getAttribute('aria-sort') === 'descending';
                    return rising && falling && inOrder && texts(column).slice().sort().join() === before;
                }).every(Boolean);
            }'''), f'table {i} does not sort')
        filters = self.page.locator('.filter input')
        for i in range(filters.count()):
            block = filters.nth(i).locator('xpath=ancestor::div[@class="table"]')
            rows = block.locator('tbody tr:not(.hidden)')
            filters.nth(i).fill('no row has this text')
            self.expect(rows.count() == 0, f'filter {i} does nothing')
            filters.nth(i).fill('')
            self.expect(rows.count() > 0, f'filter {i} keeps rows away')
        return tables.count()

    def choose(self):
        if self.page.locator('#system').count():
            self.page.select_option('#system', index=1)
            self.expect(self.page.locator('.picked').count() > 0, 'highlighting marks nothing')
            self.page.select_option('#system', '')
            self.expect(self.page.locator('.picked').count() == 0, 'highlighting stays')
        if self.page.locator('#benchmark').count():
            self.page.select_option('#benchmark', index=1)
            self.expect(self.page.locator('figure.hidden').count() > 0, 'choosing a benchmark hides nothing')
            self.page.select_option('#benchmark', '')
            self.expect(self.page.locator('figure.hidden').count() == 0, 'choosing a benchmark hides too much')

    def change_theme(self):
        colour = 'getComputedStyle(document.body).backgroundColor'
        before = self.page.evaluate(colour)
        self.page.click('#theme')
        self.expect(self.page.evaluate(colour) != before, 'the theme does not change')
        self.page.click('#theme')

    def use_keyboard(self):
        self.page.evaluate('document.activeElement.blur(); scrollTo(0, 0)')
        self.page.reload()
        self.page.keyboard.press('Tab')
        self.expect(self.page.evaluate('document.activeElement.className') == 'skip', 'Tab does not begin at the skip link')
        for _ in range(200):
            self.page.keyboard.press('Tab')
            if self.page.evaluate('document.activeElement.closest("thead") !== null'):
                break
        self.page.keyboard.press('Enter')
        self.expect(self.page.evaluate('document.activeElement.closest("th").hasAttribute("aria-sort")'),
                    'Enter does not sort')


if __name__ == '__main__':
    sys.exit(main())
