// Runs Strata's commands on files in memory. Messages to it: {drop: [{path, file}]} and {run: [words], page}. Its answers are
// {loaded}, {added}, {line, isError}, {ended} and {failed, isBroken}: after isBroken it is of no further use.
'use strict';

const WORK = '/files', RULES = '/home/web_user/.local/share/strata/rules';
const RULE_FILE = /(?<=^|\/)mlperf_logging\/compliance_checker\//;

class Program {
  // `loadStrata` is what Emscripten made. `print` gets each line, and whether it is of standard error.
  static async load(loadStrata, print) {
    const program = new Program();
    program.files = new Map();  // bytes of each file to check
    program.rules = [];         // names of the archives that rules came from
    program.strata = await loadStrata({thisProgram: 'strata', print: line => print(line, false),
                                        // A progress line ends with a control sequence that erases it.
                                        printErr: line => print(line.replace(/^.*\x1b\[K/s, ''), true)});
    program.strata.FS.mkdirTree(WORK);
    program.strata.FS.chdir(WORK);
    return program;
  }

  // Adds all files of a drop, or none if it throws. What has the same name as before is replaced. Returns the state of all
  // drops, {paths, size, rules}, and of this one {added, leftOut, replaced}.
  async add(dropped) {
    // Rules are taken only from a file or folder that its name says to be rules: a submission cannot bring its own.
    const isRules = path => /^mlperf[-_]logging/.test(path.split('/')[0]);
    const unpacked = new Unpacked(this.size), rules = new Map();
    for (const {path, file} of dropped) {
      let bytes;
      try {
        bytes = new Uint8Array(await file.arrayBuffer());
      } catch (error) {
        throw new Error(`${path}: cannot be read: ${error.message}; if it has changed, drop it again`);
      }
      const top = path.split('/')[0];
      if (isRules(path) && !rules.has(top)) rules.set(top, new Unpacked(this.size));
      await unpack(path, bytes, isRules(path) ? rules.get(top) : unpacked);
    }
    for (const [top, one] of rules) {
      if ([...one.files.keys()].some(path => RULE_FILE.test(path))) continue;
      for (const [path, bytes] of one.files) unpacked.add(path, bytes);  // logs of that name
      rules.delete(top);
    }
    const replaced = this.makeRoomFor(unpacked.files);
    for (const [path, bytes] of unpacked.files) {
      this.write(`${WORK}/${path}`, bytes);
      this.files.set(path, bytes.length);
    }
    for (const [top, one] of rules) this.addRules(top, one.files);
    return {paths: [...this.files.keys()].sort(), size: this.size, rules: this.rules, added: [...unpacked.files.keys()],
            newRules: rules.size, leftOut: unpacked.leftOut, replaced};
  }

  get size() { return [...this.files.values()].reduce((sum, size) => sum + size, 0); }

  // Removes what has the same name at the top, with the files that commands wrote there. Returns these names.
  makeRoomFor(files) {
    const tops = new Set([...files.keys()].map(path => path.split('/')[0])), replaced = [];
    for (const top of tops) {
      if (!this.strata.FS.analyzePath(`${WORK}/${top}`).exists) continue;
      this.remove(`${WORK}/${top}`);
      replaced.push(top);
    }
    for (const path of [...this.files.keys()]) {
      if (tops.has(path.split('/')[0])) this.files.delete(path);
    }
    return replaced;
  }

  remove(path) {
    const {FS} = this.strata;
    if (!FS.isDir(FS.stat(path).mode)) {
      FS.unlink(path);
      return;
    }
    for (const name of FS.readdir(path)) {
      if (name !== '.' && name !== '..') this.remove(`${path}/${name}`);
    }
    FS.rmdir(path);
  }

  addRules(name, files) {
    const begin = [...files.keys()].find(path => RULE_FILE.test(path)).search(RULE_FILE);
    const folder = `${RULES}/${name.replace(/\.(whl|zip|tar\.gz|tgz)$/, '')}`;
    for (const [path, bytes] of files) this.write(`${folder}/${path.slice(begin)}`, bytes);
    if (!this.rules.includes(name)) this.rules.push(name);
  }

  write(path, bytes) {
    const {FS} = this.strata;
    FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
    FS.writeFile(path, bytes);
  }

  // Returns the exit code: 0 if all passed, 1 if something failed, 2 for an error.
  run(words) { return this.strata.callMain(words); }

  // Returns a file as text and removes it. Returns null if there is none.
  take(path) {
    const {FS} = this.strata;
    if (!FS.analyzePath(path).exists) return null;
    const content = FS.readFile(path, {encoding: 'utf8'});
    FS.unlink(path);
    return content;
  }

  // Returns {path, bytes} of each file that commands wrote into the folder of the files to check.
  written(folder = WORK) {
    const {FS} = this.strata;
    return FS.readdir(folder).filter(name => name !== '.' && name !== '..').flatMap(name => {
      const path = `${folder}/${name}`, known = path.slice(WORK.length + 1);
      if (FS.isDir(FS.stat(path).mode)) return this.written(path);
      return this.files.has(known) ? [] : [{path: known, bytes: FS.readFile(path)}];
    });
  }
}

if (typeof WorkerGlobalScope !== 'undefined') {
  const fail = isBroken => error => postMessage({failed: error.message || 'a file could not be written', isBroken});
  const program = Program.load(loadStrata, (line, isError) => postMessage({line, isError}));
  let work = program.then(ready => {
    ready.run(['--version']);
    postMessage({loaded: true});
  });
  work.catch(fail(true));
  onmessage = ({data}) => {
    work = work.then(async () => answer(await program, data).catch(fail(!data.drop)));
    work.catch(() => {});  // the program did not load, which was said
  };
}

async function answer(program, {drop, run, page}) {
  if (drop) {
    postMessage({added: await program.add(drop)});
    return;
  }
  const begin = performance.now();
  const code = program.run(run);
  postMessage({ended: {code, html: page ? program.take(page) : null, written: program.written(), milliseconds: performance.now() - begin}});
}
