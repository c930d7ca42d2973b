#!/usr/bin/env python3
"""Uses the page that `scripts/packages.sh browser` makes, in a headless Chromium, from disk. Chooses and drops a log, a folder
and archives of results/, runs every command, and stops one. Exits with 1 for a wrong verdict, an error on the console, a page
wider than its window, or a request to anywhere; also tries whether the page's scripts could make one.

    apt install chromium; python3 -m venv browser; browser/bin/pip install playwright
    browser/bin/pip download --no-deps mlperf-logging==4.1.68
    browser/bin/python scripts/campaigns/checker_in_browser.py build/packages/strata.html --wheel mlperf_logging-4.1.68-py3-none-any.whl
"""
import argparse
import pathlib
import re
import shutil
import sys
import tempfile

from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUBMISSION = ROOT / 'results/Strata'
WIDTHS = (1200, 400)
MOST_WAIT = 60_000  # ms
PASSED = r'Passed \('


class Visit:
    """One look at the page, in a window of some width."""

    def __init__(self, browser, page_file, width):
        self.problems = []
        self.page = browser.new_context(viewport={'width': width, 'height': 900}, accept_downloads=True).new_page()
        self.page.on('console', lambda message: self.problems.append(f'console: {message.text}'))
        self.page.on('pageerror', lambda error: self.problems.append(f'error: {error}'))
        self.page.on('request', self.note_request)
        self.page.goto(page_file.resolve().as_uri())
        self.expect_text('#state', 'Nothing to check yet')
        self.expect_text('#version', 'strata ')

    def note_request(self, request):
        if not request.url.startswith(('file:', 'data:', 'blob:')):
            self.problems.append(f'asks for {request.url}')

    def expect_text(self, where, text):
        expect(self.page.locator(where)).to_contain_text(text, timeout=MOST_WAIT)

    def expect_verdict(self, verdict, *texts):
        ended = self.page.locator('#ended')
        expect(ended).to_contain_text(re.compile(f'^{verdict}'), timeout=MOST_WAIT)
        for text in texts:
            self.expect_text('#output', text)

    def choose(self, *files):
        self.page.set_input_files('#files', [str(file) for file in files])

    def drop(self, *files):
        box = self.page.locator('#drop').bounding_box()
        session = self.page.context.new_cdp_session(self.page)
        for kind in ('dragEnter', 'dragOver', 'drop'):
            session.send('Input.dispatchDragEvent', {
                'type': kind, 'x': box['x'] + 20, 'y': box['y'] + 20,
                'data': {'items': [], 'files': [str(file) for file in files], 'dragOperationsMask': 1}})

    def remove_all(self):
        self.page.click('#clear')
        self.expect_text('#state', 'Nothing to check yet')

    def run(self, command):
        self.page.click(f'button[data-command="{command}"]')


def use(visit, scratch, pictures, width, wheel):
    page = visit.page
    log = next(SUBMISSION.glob('results/*/bert/result_0.txt'))
    visit.choose(log)
    visit.expect_verdict(PASSED, 'passed result_0.txt')
    visit.remove_all()

    damaged = scratch / 'result_1.txt'
    damaged.write_text(log.read_text().replace('"run_stop"', '"run_halt"'))
    visit.drop(damaged)
    visit.expect_verdict('Failed', 'failed result_1.txt', 'run_stop')
    # A second drop is checked, too, and one of the same name replaces the first.
    damaged.write_text(log.read_text())
    visit.drop(damaged)
    visit.expect_text('#state', 'replaced: result_1.txt')
    visit.expect_verdict(PASSED, 'passed result_1.txt')
    visit.remove_all()

    # A whole round, chosen as a folder.
    page.set_input_files('#folder', str(ROOT / 'results'))
    visit.expect_verdict(PASSED, 'submitter', 'PyTorch', 'Strata')
    visit.expect_text('#command', 'strata check round results')
    visit.run('check round')
    visit.expect_verdict(PASSED, 'PyTorch')
    visit.remove_all()

    other = scratch / 'result_2.txt'
    other.write_text(log.read_text().replace('"value": "bert"', '"value": "resnet"'))
    visit.choose(other)
    visit.expect_verdict('Passed; some of it was not judged', 'not judged result_2.txt')
    if wheel:
        visit.choose(wheel)
        visit.expect_text('#state', f'rules of {wheel.name} added')
        visit.expect_verdict(PASSED, 'passed result_2.txt', 'mlperf_logging 4.1.68')
    visit.remove_all()

    visit.drop(SUBMISSION)
    visit.expect_verdict(PASSED, 'converges like the reference', 'passed /files/Strata')
    if pictures:
        page.screenshot(path=pictures / f'checker-{width}.png', full_page=True)
    visit.run('score')
    visit.expect_verdict('Done', 'Strata', 'olympic')
    visit.run('report')
    visit.expect_verdict('Done')
    frame = page.frame_locator('#report')
    expect(frame.locator('svg >> visible=true').first).to_be_visible(timeout=MOST_WAIT)
    with page.expect_download() as download:
        page.click('text=Save the report')
    if '<svg' not in download.value.path().read_text():
        visit.problems.append('the saved report has no picture')
    if pictures:
        page.screenshot(path=pictures / f'report-{width}.png', full_page=True)
    page.fill('#options', '--usage hpc')
    visit.run('check package')
    visit.expect_verdict('Passed; some of it was not judged', 'not judged Results')
    page.fill('#options', '--no-such-option')
    visit.run('score')
    visit.expect_verdict('Not all is done', '--no-such-option')
    page.fill('#options', '')
    visit.remove_all()

    for kind in ('zip', 'gztar'):
        archive = shutil.make_archive(str(scratch / 'Strata'), kind, SUBMISSION.parent, 'Strata')
        visit.choose(archive)
        visit.expect_verdict(PASSED, 'passed /files/Strata')
        visit.remove_all()
    cut = scratch / 'cut.zip'
    cut.write_bytes((scratch / 'Strata.zip').read_bytes()[:5000])
    visit.choose(cut)
    visit.expect_text('#state', 'cut.zip: ')
    visit.expect_text('#state', 'damaged')
    visit.drop(damaged)
    visit.expect_verdict(PASSED, 'passed result_1.txt')
    visit.expect_text('#state', 'damaged')

    # A command that is stopped leaves the files.
    visit.choose(scratch / 'Strata.zip')
    visit.expect_verdict(PASSED, 'passed /files/Strata')
    page.evaluate("run('report', 'Strata'); element('stop').click()")
    visit.expect_text('#ended', 'Stopped')
    visit.run('check log')
    visit.expect_verdict(PASSED, '10 logs: 10 passed')
    # So does one that ends the program.
    page.evaluate("run('report', 'Strata'); worker.onmessage({data: {failed: 'a trial', isBroken: true}})")
    visit.expect_text('#ended', 'The program ended: a trial')
    visit.run('check log')
    visit.expect_verdict(PASSED, '10 logs: 10 passed')

    if page.evaluate('document.documentElement.scrollWidth > innerWidth'):
        visit.problems.append('the page is wider than its window')


def tries_to_send(visit):
    """Returns the requests that leave the page if it tries to send something, and how many its policy refused."""
    sent = []
    visit.page.on('requestfinished', lambda request: request.url.startswith('blob:') or sent.append(request.url))
    visit.page.on('requestfailed', lambda request: request.failure == 'csp' or sent.append(f'{request.url}: {request.failure}'))
    problems_before = len(visit.problems)
    refused = visit.page.evaluate('''async () => {
        const ways = {
            fetch: () => fetch('https://example.invalid/'),
            peer: () => new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:3478'}]}),
            window: () => open('https://example.invalid/'),
            beacon: () => navigator.sendBeacon('https://example.invalid/'),
            image: () => new Promise((done, fail) => { const image = new Image(); image.onload = done; image.onerror = fail;
                                                       image.src = 'https://example.invalid/'; }),
            worker: () => new Promise((done, fail) => { const worker = new Worker(URL.createObjectURL(new Blob(
                ["fetch('https://example.invalid/').then(() => postMessage(1), () => postMessage(0))"])));
                worker.onmessage = ({data}) => data ? done() : fail(); }),
        };
        let refused = 0;
        addEventListener('securitypolicyviolation', () => { ++refused; });
        for (const way of Object.values(ways)) {
            try { await way(); } catch (error) { /* refused */ }
        }
        await new Promise(done => setTimeout(done, 500));
        return refused;
    }''')
    del visit.problems[problems_before:]  # the console tells of each refusal
    return sent, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('page', type=pathlib.Path)
    parser.add_argument('--wheel', type=pathlib.Path, help='the official rules, to drop them, too')
    parser.add_argument('--pictures', type=pathlib.Path, help='a folder for screenshots')
    parser.add_argument('--chromium', default='/usr/bin/chromium')
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    problems = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=['--no-sandbox'])
        for width in WIDTHS:
            visit = Visit(browser, options.page, width)
            try:
                use(visit, pathlib.Path(scratch), options.pictures, width, options.wheel)
            except AssertionError as error:
                problems.append(f'{width}: {error}')
            else:
                print(f'{width} pixels: every command ran')
            sent, refused = tries_to_send(visit)
            print(f'{width} pixels: of six ways to send something the policy refused {refused}; the others failed')
            if sent or refused < 3:
                problems.append(f'{width}: the page can send: {sent}')
            problems += [f'{width}: {problem}' for problem in visit.problems]
        browser.close()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
