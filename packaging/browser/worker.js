// Runs Strata's commands on files in memory. Messages to it: {drop: [{path, file}]} and {run: [words], page}. Its answers are
// {loaded}, {added}, {line, isError}, {ended} and {failed, isBroken}: after isBroken it is of no further use.
'use strict';

const WORK = '/work', RULES = '/home/web_user/.local/share/strata/rules';

class Program {
  // `loadStrata` is what Emscripten made. `print` gets each line, and whether it is of standard error.
  static async load(loadStrata, print) {
    const program = new Program();
    program.files = new Map();  // bytes of each file to check
    program.rules = [];         // names of the archives that rules came from
    program.strata = await loadStrata({thisProgram: 'strata', print: line => print(line, false), printErr: line => print(line, true)});
    program.strata.FS.mkdirTree(WORK);
    program.strata.FS.chdir(WORK);
    return program;
  }

  // Adds all files of a drop, or none if it throws. What has the same name as before is replaced. Returns the state of all
  // drops, {paths, size, rules}, and of this one {leftOut, replaced}.
  async add(dropped) {
    // Rules are taken only from a file or folder that its name says to be rules: a submission cannot bring its own.
    const isRules = path => /^mlperf[-_]logging/.test(path.split('/')[0]);
    const unpacked = new Unpacked(this.size), rules = new Unpacked(this.size);
    for (const {path, file} of dropped) {
      let bytes;
      try {
        bytes = new Uint8Array(await file.arrayBuffer());
      } catch (error) {
        throw new Error(`${path}: cannot be read: ${error.message}; if it has changed, drop it again`);
      }
      await unpack(path, bytes, isRules(path) ? rules : unpacked);
    }
    const replaced = this.makeRoomFor(unpacked.files);
    for (const [path, bytes] of unpacked.files) {
      this.write(`${WORK}/${path}`, bytes);
      this.files.set(path, bytes.length);
    }
    if (rules.files.size > 0) this.addRules(dropped.find(({path}) => isRules(path)).path.split('/')[0], rules.files);
    return {paths: [...this.files.keys()].sort(), size: this.size, rules: this.rules, leftOut: unpacked.leftOut, replaced};
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
    const inside = [...files.keys()].find(path => /(^|\/)mlperf_logging\/compliance_checker\//.test(path));
    if (inside === undefined) throw new Error(`${name}: holds no mlperf_logging/compliance_checker/`);
    const begin = inside.indexOf('mlperf_logging/compliance_checker/');
    for (const [path, bytes] of files) {
      if (path.startsWith(inside.slice(0, begin))) this.write(`${RULES}/${name.replace(/\.(whl|zip|tar\.gz|tgz)$/, '')}/${path.slice(begin)}`, bytes);
    }
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
}

if (typeof WorkerGlobalScope !== 'undefined') {
  const fail = isBroken => error => postMessage({failed: String(error.message ?? error), isBroken});
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
  postMessage({ended: {code, html: page ? program.take(page) : null, milliseconds: performance.now() - begin}});
}
