#!/usr/bin/env node
// Does the page for browsers unpack archives, refuse damaged ones, and judge as the native program does?
// Usage: browser_test.js PAGE [STRATA FOLDER...]     each log below a FOLDER gets the same output from the native program STRATA
// Needs Node.js 18 or later, tar and python3. scripts/campaigns/checker_in_browser.py tries the page itself.
'use strict';

const fs = require('fs'), os = require('os'), path = require('path'), {execFileSync, spawnSync} = require('child_process');

const [page, strata, ...folders] = process.argv.slice(2);
const root = path.resolve(__dirname, '../..');
const source = /<script type="text\/plain" id="program">\n([^]*?)<\/script>/.exec(fs.readFileSync(page, 'utf8'))[1];
const choice = fs.readFileSync(path.join(root, 'packaging/browser/targets.js'), 'utf8');
const names = '{loadStrata, Program, Unpacked, WORK, RULES, firstCheck, splitWords, targets, verdictOf, wordsFor}';
const {loadStrata, Program, Unpacked, WORK, RULES, firstCheck, splitWords, targets, verdictOf, wordsFor} =
    new Function('require', '__filename', '__dirname', `${source}\n${choice}\nreturn ${names};`)(require, __filename, __dirname);
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'strata_page.'));
process.on('exit', () => fs.rmSync(scratch, {recursive: true}));
let failures = 0;

function expect(condition, problem) {
  if (condition) return;
  console.error(`FAILED: ${problem}`);
  ++failures;
}

class Session {
  static async open() {
    const session = new Session();
    session.lines = [];
    session.program = await Program.load(loadStrata, line => session.lines.push(line));
    return session;
  }

  run(...words) {
    this.lines.length = 0;
    const code = this.program.run(words);
    return {code, text: this.lines.join('\n')};
  }

  add(...files) { return this.program.add(files.map(([name, bytes]) => ({path: name, file: new Blob([bytes])}))); }
}

// Returns [path, bytes] of every file below a folder.
function filesBelow(folder, name) {
  return fs.readdirSync(folder, {withFileTypes: true}).flatMap(entry => {
    const inside = `${name}/${entry.name}`, file = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(file, inside) : [[inside, fs.readFileSync(file)]];
  });
}

async function archivesAreReadAndDamagedOnesRefused() {
  const tree = path.join(scratch, 'tree/Acme'), deep = `${'long/'.repeat(30)}name_that_is_longer_than_a_tar_header_has_room_for.txt`;
  fs.mkdirSync(path.join(tree, path.dirname(deep)), {recursive: true});
  fs.writeFileSync(path.join(tree, deep), 'deep');
  fs.writeFileSync(path.join(tree, 'two words é.txt'), Buffer.alloc(100000, 'x'));
  fs.writeFileSync(path.join(tree, 'empty.txt'), '');
  const wanted = filesBelow(tree, 'Acme').map(([name, bytes]) => `${name} ${bytes.length}`).sort();
  const make = {
    'pax.tar.gz': file => execFileSync('tar', ['-C', `${scratch}/tree`, '--format=pax', '-czf', file, 'Acme']),
    'gnu.tar': file => execFileSync('tar', ['-C', `${scratch}/tree`, '--format=gnu', '-cf', file, 'Acme']),
    'deflated.zip': file => execFileSync('python3', ['-c', 'import shutil, sys; shutil.make_archive(sys.argv[1][:-4], "zip", sys.argv[2], "Acme")',
                                                     file, `${scratch}/tree`]),
  };
  for (const [name, pack] of Object.entries(make)) {
    const file = path.join(scratch, name);
    pack(file);
    const bytes = fs.readFileSync(file);
    const session = await Session.open();
    const {paths, leftOut} = await session.add([name, bytes]);
    const found = paths.map(one => `${one} ${session.program.strata.FS.stat(`${WORK}/${one}`).size}`).sort();
    expect(JSON.stringify(found) === JSON.stringify(wanted), `${name}: ${found} instead of ${wanted}`);
    expect(leftOut.length === 0, `${name}: left out ${leftOut}`);
    for (const cut of [bytes.length - 1, bytes.length >> 1, 600, 100, 5]) {
      if (name.endsWith('.tar') && cut === bytes.length - 1) continue;  // that byte is filling
      const before = session.program.strata.FS.readdir(WORK).length;
      let said = '';
      try {
        const {paths: some} = await session.add([`cut_${name}`, bytes.subarray(0, cut)]);
        said = some.includes(`cut_${name}`) ? `cut_${name}` : some.join();
      } catch (error) {
        said = error.message;
      }
      // Too short to be an archive, it is a file like any other.
      expect(said.startsWith(`cut_${name}`), `${name}, cut to ${cut} bytes: ${said}`);
      if (said !== `cut_${name}`) expect(session.program.strata.FS.readdir(WORK).length === before, `${name}, cut to ${cut} bytes: something was added`);
    }
    if (name === 'deflated.zip') {
      const damaged = Buffer.from(bytes);
      damaged[bytes.lastIndexOf('PK\x01\x02') + 16] ^= 1;  // a checksum
      const said = await session.add([name, damaged]).catch(error => error.message);
      expect(/deflated.zip: is damaged: .* checksum/.test(said), `a wrong checksum: ${said}`);
    }
  }
  const session = await Session.open(), wholeRoom = Unpacked.most;
  Unpacked.most = 150_000;
  const large = Buffer.alloc(160_000), largeZip = path.join(scratch, 'large.zip');
  fs.writeFileSync(path.join(scratch, 'zeros'), large);
  execFileSync('python3', ['-c', 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED).write(sys.argv[2], "zeros")',
                           largeZip, path.join(scratch, 'zeros')]);
  for (const [name, bytes, problem] of [
    ['large.gz', require('zlib').gzipSync(large), /^large.gz: unpacks to more than/],
    ['large.zip', fs.readFileSync(largeZip), /^large.zip: zeros: unpacks to more than/],
    ['large.txt', large, /^large.txt: the files are larger/],
  ]) {
    const said = await session.add([name, bytes]).catch(error => error.message);
    expect(problem.test(said), `${name} is too large: ${said}`);
  }
  await session.add(['half.txt', Buffer.alloc(100_000)]);
  const second = await session.add(['more.txt', Buffer.alloc(60_000)]).catch(error => error.message);
  expect(/larger than/.test(second), `two drops are too large together: ${second}`);
  Unpacked.most = wholeRoom;
  const escaping = path.join(scratch, 'escaping.tar');
  execFileSync('tar', ['-C', `${scratch}/tree`, '--transform', 's,^,../,', '-P', '-cf', escaping, 'Acme/empty.txt']);
  const refused = await session.add(['escaping.tar', fs.readFileSync(escaping)]).catch(error => error.message);
  expect(/^escaping.tar: .*leads out of its folder/.test(refused), `a path with ..: ${refused}`);
  const nested = await session.add(['Acme/code/env.tar.gz', fs.readFileSync(path.join(scratch, 'pax.tar.gz'))]);
  expect(nested.added.join() === 'Acme/code/env.tar.gz', `an archive in a folder: ${nested.added}`);
}

// Python's modules write what other programs may write.
async function unusualArchivesAreRead() {
  const make = code => {
    const file = path.join(scratch, 'made');
    execFileSync('python3', ['-c', `import io, sys, tarfile, zipfile\nfile = sys.argv[1]\n${code}`, file]);
    return fs.readFileSync(file);
  };
  const session = await Session.open();
  const read = async (name, bytes) => {
    const {added, leftOut} = await session.add([name, bytes]);
    return [...added.map(one => `${one}=${session.program.strata.FS.readFile(`${WORK}/${one}`, {encoding: 'utf8'})}`), ...leftOut].join('; ');
  };
  const tar = body => make(`with tarfile.open(file, "w", format=tarfile.USTAR_FORMAT) as archive:
  def add(name, text=b"", kind=tarfile.REGTYPE):
    info = tarfile.TarInfo(name); info.size = len(text); info.type = kind; info.linkname = "a"; archive.addfile(info, io.BytesIO(text))
  ${body}`);
  const zip = body => make(`with zipfile.ZipFile(file, "w") as archive:\n  ${body}`);
  const long = `${'d'.repeat(90)}/${'f'.repeat(90)}`;
  for (const [name, bytes, wanted] of [
    ['stored.zip', zip(`info = zipfile.ZipInfo("a"); info.extra = b"\\x99\\x99\\x02\\x00ab"; archive.writestr(info, "one"); archive.comment = b"c" * 300`), 'a=one'],
    ['windows.zip', zip(`archive.writestr("x\\\\y", "one")`), 'x/y=one'],
    ['mac.zip', zip(`archive.writestr("a", "one"); archive.writestr("__MACOSX/._a", "no"); archive.writestr("b/.DS_Store", "no")`), 'a=one'],
    ['link.zip', zip(`info = zipfile.ZipInfo("l"); info.create_system = 3; info.external_attr = 0o120777 << 16; archive.writestr(info, "a")`),
     'link.zip: l, which is a link'],
    ['ustar.tar', tar(`add("${long}", b"one")`), `${long}=one`],
    ['updated.tar', tar('add("a", b"old"); add("a", b"new")'), 'a=new'],
    ['links.tar', tar('add("a", b"one"); add("l", kind=tarfile.SYMTYPE); add("h", kind=tarfile.LNKTYPE); add("p", kind=tarfile.FIFOTYPE)'),
     'a=one; links.tar: l, which is a link; links.tar: h, which is a link; links.tar: p, which is neither a file nor a folder'],
    ['folder.tar', tar('add("d/"); add("d/a", b"one")'), 'd/a=one'],
  ]) {
    const found = await read(name, bytes).catch(error => error.message);
    expect(found === wanted, `${name}: ${found} instead of ${wanted}`);
  }
  const flipped = tar('add("a", b"one")');
  flipped[0] ^= 1;
  const zipOfTwo = zip('archive.writestr("a", "one"); archive.writestr("b", "two")');
  const short = Buffer.from(zipOfTwo), encrypted = Buffer.from(zipOfTwo), packed = Buffer.from(zipOfTwo);
  short[short.length - 14] = short[short.length - 12] = 1;       // says that it has one entry
  encrypted[encrypted.lastIndexOf('PK\x01\x02') + 8] |= 1;
  packed[packed.lastIndexOf('PK\x01\x02') + 10] = 14;            // LZMA
  for (const [name, bytes, problem] of [
    ['flipped.tar', flipped, /^flipped.tar: is damaged at byte 0/], ['short.zip', short, /^short.zip: is damaged: the list/],
    ['encrypted.zip', encrypted, /^encrypted.zip: b is encrypted/], ['lzma.zip', packed, /^lzma.zip: b is packed by method 14/],
    ['x.tar.xz', Buffer.from('\xfd7zXZ\0', 'latin1'), /^x.tar.xz: .* cannot unpack xz/],
    ['both.tar', tar('add("a", b"one"); add("a/b", b"two")'), /^both.tar: a\/b: a file has the name of its folder/],
  ]) {
    const before = session.program.size;
    const said = await session.add([name, bytes]).then(() => 'read', error => error.message);
    expect(problem.test(said) && session.program.size === before, `${name}: ${said}`);
  }
}

async function filesOfTheSameNameAreReplacedAndNamed() {
  const session = await Session.open();
  await session.add(['Acme/a.txt', 'a'], ['Acme/old/b.txt', 'b']);
  const again = await session.add(['Acme/a.txt', 'new']);
  expect(again.paths.join() === 'Acme/a.txt' && again.replaced.join() === 'Acme' && again.size === 3, `a folder again: ${JSON.stringify(again)}`);
  expect(!session.program.strata.FS.analyzePath(`${WORK}/Acme/old`).exists, 'the old folder is still there');
  const both = await session.add(['r.txt', 'one'], ['r.txt.gz', require('zlib').gzipSync('two')]);
  expect(both.leftOut.length === 1 && /r.txt, because/.test(both.leftOut[0]), `two files of one name: ${both.leftOut}`);
}

async function onlyDroppedRulesAreTaken() {
  const session = await Session.open();
  const {paths, rules} = await session.add(['Acme/code/mlperf_logging/compliance_checker/training_5.0.0/common.yaml', '']);
  expect(paths.length === 1 && rules.length === 0, `rules in a submission: ${paths} ${rules}`);
  const named = await session.add(['mlperf_logging_run.txt', 'log']);
  expect(named.added.join() === 'mlperf_logging_run.txt', `a log with such a name: ${JSON.stringify(named)}`);
  const wheel = path.join(scratch, 'mlperf_logging-1.2.3-py3-none-any.whl'), files = path.join(scratch, 'wheel/mlperf_logging/compliance_checker');
  fs.mkdirSync(files, {recursive: true});
  fs.writeFileSync(path.join(files, 'mark'), '');
  execFileSync('python3', ['-m', 'zipfile', '-c', wheel, path.join(scratch, 'wheel/mlperf_logging')]);
  const added = await session.add([path.basename(wheel), fs.readFileSync(wheel)]);
  expect(added.rules.join() === path.basename(wheel) && added.added.length === 0 && added.newRules === 1, `a wheel: ${JSON.stringify(added)}`);
  const mark = `${RULES}/mlperf_logging-1.2.3-py3-none-any/mlperf_logging/compliance_checker/mark`;
  expect(session.program.strata.FS.analyzePath(mark).exists, 'the rules are not where the program looks for them');
}

function theRightCommandIsChosen() {
  const box = ['Acme/systems/box.json', 'Acme/results/box/bert/result_0.txt'], other = box.map(name => name.replace('Acme', 'Other'));
  for (const [paths, wanted] of [
    [box, 'check package Acme'], [box.map(name => name.slice(5)), 'check package .'], [['result_0.txt'], 'check log result_0.txt'],
    [[...box, ...other], 'check round .'], [['a/log.txt', 'b/log.txt'], 'check log .'],
    [[...box, ...other].map(name => `results/${name}`), 'check round results'], [['results/box/bert/result_0.txt'], 'check log results; only logs were checked, because the submission has no systems/'],
    [['old_results/box/bert/result_0.txt', 'systems/box.json'], 'check log .'], [['a/log.txt'], 'check log a'],
    [[...box, 'Acme/benchmarks/bert/results/a/b/c.txt'], 'check package Acme'], [[...box, 'bad.txt'], 'check package Acme; bad.txt not checked'],
    [[...box, other[1]], 'check log .; only logs were checked, because Other has no systems/'],
    [[...box, ...other.map(name => `more/${name}`)], 'check log .; only logs were checked; choose a submission to check it whole'],
  ]) {
    const {command, target, note} = firstCheck(paths);
    expect(`${command} ${target}${note ? `; ${note}` : ''}` === wanted, `${paths}: ${command} ${target}; ${note} instead of ${wanted}`);
    expect(targets(paths).includes(target), `${paths}: ${target} cannot be chosen`);
  }
  for (const [target, paths, wanted] of [
    ['.', ['a.log', 'b.log'], 'check log a.log b.log'], ['.', ['x/result_0.txt', 'b.log'], 'check log . b.log'],
    ['-x.log', ['-x.log'], 'check log ./-x.log'], ['.', ['--help', '[a]'], 'check log ./--help ./[a]'], ['a.log', ['a.log', 'b.log'], 'check log a.log'],
    ['x', ['x/a.log', 'b.log'], 'check log x/a.log'],
  ]) expect(wordsFor('check log', target, paths).join(' ') === wanted, `${target} of ${paths}: ${wordsFor('check log', target, paths)}`);
  expect(JSON.stringify(splitWords(`--title="A B" 'c d' e"`)) === JSON.stringify(['--title=A B', 'c d', 'e"']), `words: ${splitWords(`--title="A B" 'c d' e"`)}`);
}

function verdictsAreShownAsTheyAre() {
  const head = 'submitter  outcome     systems     folders  failed  not judged  logs   failed logs';
  for (const [words, code, lines, wanted] of [
    ['check log x', 0, ['passed x'], 'good'], ['check log x', 1, ['failed x'], 'bad'], ['check log x', 2, ['passed x'], 'bad'],
    ['check log x', 0, ['  not judged x'], 'open'], ['check round x', 0, [head, 'Acme       passed      passed      1        0       0           10     0'], 'good'],
    ['check round x', 0, [head, 'Acme       not judged  passed      1        0       1           10     0'], 'open'],
    ['check log x --help', 0, [], ''], ['check log x --json', 0, ['{'], ''], ['score x', 0, [], ''],
  ]) {
    const {kind} = verdictOf(words.split(' '), code, lines);
    expect(kind === wanted, `${words}, exit code ${code}, ${lines}: ${kind} instead of ${wanted}`);
  }
}

async function theSubmissionIsJudged() {
  const session = await Session.open();
  await session.add(...filesBelow(path.join(root, 'results/Strata'), 'Strata'));
  const checked = session.run('check', 'package', 'Strata');
  expect(checked.code === 0 && /converges like the reference/.test(checked.text), `check package: ${checked.code}\n${checked.text}`);
  expect(session.run('score', 'Strata').code === 0, 'score');
  expect(session.run('report', 'Strata', '--output', '/report.html').code === 0, 'report');
  const report = session.program.take('/report.html');
  expect(report.startsWith('<!DOCTYPE html>') && report.includes('<svg'), 'the report has no picture');
  const log = 'Strata/results/' + session.program.strata.FS.readdir(`${WORK}/Strata/results`).find(name => !name.startsWith('.')) + '/bert/result_0.txt';
  const content = session.program.strata.FS.readFile(`${WORK}/${log}`, {encoding: 'utf8'});
  await session.add(['Bad/result_0.txt', content.replace('"run_stop"', '"run_halt"')]);
  const failed = session.run('check', 'log', 'Bad');
  expect(failed.code === 1 && /failed Bad\/result_0.txt/.test(failed.text) && /run_stop/.test(failed.text), `a log without run_stop: ${failed.text}`);
  const written = session.run('check', 'log', 'Bad', '--junit', 'Bad/junit.xml');
  expect(written.code === 1 && session.program.written().map(file => file.path).join() === 'Bad/junit.xml', 'the file that a command wrote is not offered');
  const absent = session.run('check', 'log', 'nowhere');
  expect(absent.code === 2 && /nowhere/.test(absent.text), `a path that does not exist: ${absent.text}`);
}

// Compares every log's verdict, and prints how many times longer the page takes, without reading files.
async function verdictsAreThoseOfTheNativeProgram() {
  const session = await Session.open();
  let logs = 0, different = 0, page = 0, native = 0;
  for (const folder of folders) {
    for (const [name, bytes] of filesBelow(folder, path.basename(folder))) {
      if (!/\/result_[^/]*\.txt$/.test(name)) continue;
      await session.add([name, bytes]);
      ++logs;
    }
    const words = ['check', 'log', path.basename(folder), '--threads', '1'];
    let begin = performance.now();
    const mine = session.run(...words);
    page += performance.now() - begin;
    begin = performance.now();
    const other = spawnSync(strata, words, {cwd: path.dirname(path.resolve(folder)), encoding: 'utf8', maxBuffer: 2 ** 30});
    native += performance.now() - begin;
    const theirs = (other.stderr + other.stdout).trim().split('\n'), ours = mine.text.trim().split('\n');
    const missing = new Set(theirs.filter(line => !ours.includes(line)));
    different += missing.size;
    expect(mine.code === other.status && ours.length === theirs.length, `${folder}: exit code ${mine.code} and ${ours.length} lines instead of ${other.status} and ${theirs.length}`);
    for (const line of [...missing].slice(0, 5)) console.error(`  only of the native program: ${line}`);
  }
  expect(different === 0, `${different} lines differ`);
  console.log(`${logs} logs judged like the native program; the page takes ${(page / native).toFixed(2)} times as long`);
}

(async () => {
  const size = fs.statSync(page).size;
  expect(size <= 8e6, `the page has ${size} bytes, more than 8 MB`);
  theRightCommandIsChosen();
  verdictsAreShownAsTheyAre();
  await archivesAreReadAndDamagedOnesRefused();
  await unusualArchivesAreRead();
  await filesOfTheSameNameAreReplacedAndNamed();
  await onlyDroppedRulesAreTaken();
  await theSubmissionIsJudged();
  if (folders.length > 0) await verdictsAreThoseOfTheNativeProgram();
  console.log(failures === 0 ? 'passed' : `${failures} failures`);
  process.exit(failures === 0 ? 0 : 1);
})();
