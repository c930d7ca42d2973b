// Runs Strata's commands on files in memory. Messages to it: {drop: [{path, file}]} and {run: [arguments]}. Its answers are
// {loaded}, {added}, {line, isError}, {ended} and {failed, isBroken}: after isBroken it is of no further use.
'use strict';

const WORK = '/work', RULES = '/home/web_user/.local/share/strata/rules';

class Program {
  // `loadStrata` is what Emscripten made. `print` gets each line, and whether it is of standard error.
  static async load(loadStrata, print) {
    const program = new Program();
    program.strata = await loadStrata({thisProgram: 'strata', print: line => print(line, false), printErr: line => print(line, true)});
    program.strata.FS.mkdirTree(WORK);
    program.strata.FS.chdir(WORK);
    return program;
  }

  // Returns what was added: {paths, rules, size, leftOut}.
  async add(dropped, unpacked = new Unpacked()) {
    for (const {path, file} of dropped) await unpack(path, new Uint8Array(await file.arrayBuffer()), unpacked);
    const all = unpacked.files.map(file => file.path);
    const rules = ruleFolder(all);
    const isRule = path => rules !== null && path.startsWith(`${rules}mlperf_logging/`);
    for (const {path, bytes} of unpacked.files) {
      this.write(isRule(path) ? `${RULES}/dropped/${path.slice(rules.length)}` : `${WORK}/${path}`, bytes);
    }
    const paths = all.filter(path => !isRule(path) && !/(^|\/)mlperf_logging-[^/]*\.dist-info\//.test(path));
    return {paths, rules: all.length - paths.length, size: unpacked.size, leftOut: unpacked.leftOut};
  }

  write(path, bytes) {
    const {FS} = this.strata;
    FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
    FS.writeFile(path, bytes);
  }

  // Returns the exit code: 0 if all passed, 1 if something failed, 2 for an error.
  run(words) { return this.strata.callMain(words); }

  // Returns a file as text and removes it.
  take(path) {
    const {FS} = this.strata;
    const content = FS.readFile(path, {encoding: 'utf8'});
    FS.unlink(path);
    return content;
  }
}

if (typeof WorkerGlobalScope !== 'undefined') {
  const program = Program.load(loadStrata, (line, isError) => postMessage({line, isError}));
  let work = program.then(ready => {
    ready.run(['--version']);
    postMessage({loaded: true});
  });
  onmessage = ({data}) => {
    work = work.then(async () => answer(await program, data))
        .catch(error => postMessage({failed: String(error.message ?? error), isBroken: !data.drop}));
  };
  work.catch(error => postMessage({failed: String(error.message ?? error), isBroken: true}));
}

async function answer(program, {drop, run, page}) {
  if (drop) {
    postMessage({added: await program.add(drop)});
    return;
  }
  const begin = performance.now();
  const code = program.run(run);
  const html = page && code !== 2 ? program.take(page) : null;
  postMessage({ended: {code, html, milliseconds: performance.now() - begin}});
}
