// The page: takes files, has the worker check them, and shows what it says.
'use strict';

const element = id => document.getElementById(id);
const NOTHING = 'Nothing to check yet.';
const REPORT = '/report.html';
const MOST_LINES = 20000;  // shown; the saved text has all

let worker = null;
let dropped = [];  // every {path, file} that it has read, for a new worker
let paths = [];    // of the files to check
let lines = [];    // of the command that runs or ran last
let running = '';  // its words; empty while none runs
let waiting = [];  // lists of {path, file} that the worker is reading, one for each answer
let checksNext = true;  // whether a check follows when it has read them

function start() {
  const source = new Blob([element('program').textContent], {type: 'text/javascript'});
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = ({data}) => {
    if (data.loaded) showVersion();
    else if (data.added) showAdded(data.added);
    else if (data.ended) showEnd(data.ended);
    else if (data.failed !== undefined) showFailure(data);
    else lines.push(data);
  };
  worker.onerror = event => showFailure({failed: event.message, isBroken: true});
}

// Starts a new worker with the files of the old one.
function restart() {
  worker.terminate();
  start();
  running = '';
  lines = [];
  waiting = [dropped, ...waiting].filter(files => files.length > 0);
  dropped = [];
  checksNext = false;
  for (const files of waiting) worker.postMessage({drop: files});
  showButtons();
}

// The first lines are those of `strata --version`.
function showVersion() {
  element('version').textContent = lines.slice(0, 2).map(({line}) => line).join(', ');
  lines = [];
  if (dropped.length + waiting.length === 0) element('state').textContent = NOTHING;
}

// ---- Files

function add(files) {
  if (files.length === 0) return;
  element('state').textContent = `Reading ${counted(files.length, 'file')}…`;
  element('ended').textContent = '';
  waiting.push(files);
  checksNext = true;
  worker.postMessage({drop: files});
}

// Returns what was dropped. Must be called in the event itself, after which it is gone. Of a page on disk, Chromium reads no
// entries of folders (webkitGetAsEntry), but handles.
async function filesOf(items) {
  const found = items.map(item => ({file: item.getAsFile(), entry: item.webkitGetAsEntry?.(), handle: item.getAsFileSystemHandle?.()}));
  const files = [];
  for (const {file, entry, handle} of found) {
    if (entry && entry.isFile) {
      files.push({path: file.name, file});
    } else if (handle) {
      files.push(...await filesOfHandle(await handle));
    } else if (entry) {
      files.push(...await filesOfEntry(entry));
    }
  }
  return files;
}

async function filesOfHandle(handle, folder = '') {
  const path = folder + handle.name;
  if (handle.kind === 'file') return [{path, file: await handle.getFile()}];
  const files = [];
  for await (const inside of handle.values()) files.push(...await filesOfHandle(inside, `${path}/`));
  return files;
}

async function filesOfEntry(entry, folder = '') {
  const path = folder + entry.name;
  if (entry.isFile) return [{path, file: await new Promise((done, fail) => entry.file(done, fail))}];
  const reader = entry.createReader(), files = [];
  for (;;) {  // a call returns at most 100 entries
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (some.length === 0) return files;
    for (const inside of some) files.push(...await filesOfEntry(inside, `${path}/`));
  }
}

function showAdded({paths: added, rules, size, leftOut}) {
  dropped.push(...waiting.shift());
  paths = [...new Set([...paths, ...added])];
  const texts = [`${counted(paths.length, 'file')} to check`];
  if (size > 0) texts.push(`${(size / 1e6).toFixed(1)} MB read`);
  if (rules > 0) texts.push(`official rules added`);
  element('state').textContent = [texts.join(', '), ...leftOut.slice(0, 5).map(text => `left out: ${text}`)].join('; ');
  element('commands').hidden = paths.length === 0;
  if (paths.length === 0 || !checksNext) return;
  const first = firstCheck(paths);
  const choices = targets(paths);
  element('target').replaceChildren(...choices.map(path => new Option(path === '.' ? 'all files' : path, path)));
  element('target').value = choices.includes(first.target) ? first.target : choices[0];
  if (running === '') run(first.command, first.target);
}

// ---- Commands

function run(command, target) {
  const options = wordsOf(element('options').value);
  const words = [...command.split(' '), target, ...options];
  running = ['strata', ...words].join(' ');
  lines = [];
  element('result').hidden = false;
  element('command').textContent = running;
  element('ended').textContent = 'Running…';
  element('ended').className = '';
  element('output').textContent = '';
  element('save').replaceChildren();
  element('report').hidden = true;
  showButtons();
  worker.postMessage(command === 'report' ? {run: [...words, '--output', REPORT], page: REPORT} : {run: words});
}

// Splits as a shell does, with quotes.
function wordsOf(text) {
  return (text.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []).map(word => word.replace(/^(["'])(.*)\1$/, '$2'));
}

function showEnd({code, html, milliseconds}) {
  if (running === '') return;  // it was stopped
  running = '';
  const verdict = {0: ['Passed', 'good'], 1: ['Failed', 'bad']}[code] ?? ['Not done: see the message below', 'bad'];
  const isCheck = element('command').textContent.startsWith('strata check');
  element('ended').textContent = `${code === 0 && !isCheck ? 'Done' : verdict[0]}, after ${(milliseconds / 1000).toFixed(1)} s`;
  element('ended').className = code === 0 && !isCheck ? '' : verdict[1];
  // Exit code 0 also means that nothing was judged.
  if (code === 0 && isCheck && lines.some(({line}) => /\bnot judged\b/.test(line))) {
    element('ended').textContent += '; some of it was not judged';
    element('ended').className = 'open';
  }
  showLines();
  save('output.txt', 'text/plain', lines.map(({line}) => line).join('\n') + '\n', 'Save this text');
  if (html) {
    save('report.html', 'text/html', html, 'Save the report');
    element('report').srcdoc = html;
    element('report').hidden = false;
  }
  showButtons();
}

function showFailure({failed, isBroken}) {
  if (!isBroken) {
    waiting.shift();
    element('state').textContent = failed;
    return;
  }
  element('ended').textContent = `The program ended: ${failed}. If memory ran out, check fewer files at a time, or use strata on a command line.`;
  element('ended').className = 'bad';
  showLines();
  if (running === '') element('state').textContent = `This browser cannot run the program: ${failed}. Use a newer one.`;
  else restart();
}

const classOf = word => ({passed: 'good', failed: 'bad', error: 'bad', warning: 'open', 'not judged': 'open'})[word];

function showLines() {
  const shown = lines.slice(0, MOST_LINES).flatMap(({line, isError}) => {
    const match = /^(\s*)(passed|failed|not judged|error|warning)(?=[: ]|$)/.exec(line);
    if (!match && !isError) return [line + '\n'];
    const word = document.createElement('span');
    word.className = match ? classOf(match[2]) : 'open';
    word.textContent = match ? match[2] : line;
    return match ? [match[1], word, line.slice(match[0].length) + '\n'] : [word, '\n'];
  });
  if (lines.length > MOST_LINES) shown.push(`… and ${lines.length - MOST_LINES} more lines: save this text to see them\n`);
  element('output').replaceChildren(...shown);
}

function save(name, type, text, label) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.textContent = label;
  element('save').append(link, ' ');
}

function showButtons() {
  for (const button of element('buttons').querySelectorAll('button')) button.disabled = running !== '';
  element('stop').hidden = running === '';
}

const counted = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

// ---- Events

element('choose-files').onclick = () => element('files').click();
element('choose-folder').onclick = () => element('folder').click();
for (const id of ['files', 'folder']) {
  element(id).onchange = event => {
    add(Array.from(event.target.files, file => ({path: file.webkitRelativePath || file.name, file})));
    event.target.value = '';
  };
}
addEventListener('dragover', event => {
  event.preventDefault();
  element('drop').classList.add('over');
});
addEventListener('dragleave', () => element('drop').classList.remove('over'));
addEventListener('drop', async event => {
  event.preventDefault();
  element('drop').classList.remove('over');
  try {
    add(await filesOf(Array.from(event.dataTransfer.items).filter(item => item.kind === 'file')));
  } catch (error) {
    element('state').textContent = `What was dropped cannot be read: ${error.message}. Choose it by a button above.`;
  }
});
element('buttons').onclick = event => {
  const command = event.target.dataset.command;
  if (command) run(command, element('target').value);
};
element('options').onkeydown = event => {
  if (event.key === 'Enter') event.preventDefault();
};
element('stop').onclick = () => {
  element('ended').textContent = 'Stopped';
  restart();
};
element('clear').onclick = () => {
  dropped = [];
  waiting = [];
  paths = [];
  element('commands').hidden = element('result').hidden = true;
  element('state').textContent = NOTHING;
  restart();
};

start();
