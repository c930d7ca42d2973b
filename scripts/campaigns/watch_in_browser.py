#!/usr/bin/env python3
"""Follow runs with `strata report --watch` in a headless Chromium while a system comes that is before the others.

What is highlighted must stay highlighted, by its name, in the choice and in the tables; the new system can be chosen.

    scripts/campaigns/watch_in_browser.py build/release/cli/strata
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

EVENT = ':::MLLOG {{"namespace": "", "time_ms": {}, "event_type": "POINT_IN_TIME", "key": "{}", "value": {}, "metadata": {{}}}}\n'


def write_run(folder, system):
    log = folder / 'Acme' / 'results' / system / 'bert' / 'result_0.txt'
    log.parent.mkdir(parents=True)
    events = [('submission_benchmark', '"bert"'), ('run_start', 'null'), ('eval_accuracy', '0.5')]
    log.write_text(''.join(EVENT.format(1000 * i, key, value) for i, (key, value) in enumerate(events)))


def shown(page):
    choice = page.eval_on_selector('#system', 'select => select.selectedOptions[0].textContent')
    rows = page.eval_on_selector_all('#content tr.picked th', 'heads => heads.map(head => head.textContent)')
    return choice, sorted({row.removesuffix(' result_0') for row in rows})


def follow(page, address, folder):
    page.goto(address)
    page.select_option('#system', label='Acme second')
    seen = [shown(page)]
    write_run(folder, 'before')
    page.locator('main th', has_text='Acme before').first.wait_for()
    seen.append(shown(page))
    page.select_option('#system', label='Acme before', timeout=5000)
    return seen + [shown(page)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('strata')
    parser.add_argument('--chromium', default='/usr/bin/chromium')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        folder = pathlib.Path(directory)
        for system in ('first', 'second'):
            write_run(folder, system)
        command = [options.strata, 'report', directory, '--watch', '--port', '0', '--every', '1']
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        browser = playwright.chromium.launch(executable_path=options.chromium, args=['--no-sandbox'])
        try:
            seen = follow(browser.new_page(), server.stdout.readline().strip(), folder)
        finally:
            browser.close()
            server.terminate()
            server.wait()
    expected = [(name, [name]) for name in ('Acme second', 'Acme second', 'Acme before')]
    if seen != expected:
        print(f'{seen}, {expected} was expected', file=sys.stderr)
        return 1
    print('what is highlighted stays so, by its name')
    return 0


if __name__ == '__main__':
    sys.exit(main())
