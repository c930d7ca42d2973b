// The page: takes files, has the worker check them, and shows what it says.
'use strict';

const element = id => document.getElementById(id);
const NOTHING = 'Nothing to check yet.';
const REPORT = '/report.html';
const MOST_LINES = 20000;  // shown; the saved text has all

let worker = null;
let cannotRun = '';         // why this browser cannot run the program
let dropped = [];           // lists of {path, file} that the worker has read, for a new worker
let waiting = [];           // lists that it is reading, one for each answer
let paths = [];             // of the files to check
let wantsCheck = false;     // whether a check follows when all is read and no command runs
let lines = [];             // of the command that runs or ran last
let running = null;         // its words, or null

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
  running = null;
  lines = [];
  waiting = [...dropped, ...waiting];
  dropped = [];
  wantsCheck = false;
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
  if (cannotRun) return;
  if (files.length === 0) {
    element('state').textContent = 'There are no files in what was dropped.';
    return;
  }
  element('state').textContent = `Reading ${counted(files.length, 'file')}…`;
  waiting.push(files);
  wantsCheck = true;
  worker.postMessage({drop: files});
  showButtons();
}

// Returns what was dropped. Must be called in the event itself, after which it is gone. If the page was opened from disk,
// Chromium reads dropped folders only by handles, not by entries.
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

function showAdded({paths: all, size, rules, leftOut, replaced}) {
  dropped.push(waiting.shift());
  paths = all;
  const texts = [`${counted(paths.length, 'file')} to check, ${(size / 1e6).toFixed(1)} MB`];
  if (rules.length > 0) texts.push(`rules of ${rules.join(' and ')} added`);
  if (replaced.length > 0) texts.push(`replaced: ${replaced.join(', ')}`);
  texts.push(...leftOut.slice(0, 5).map(text => `left out: ${text}`));
  if (leftOut.length > 5) texts.push(`and ${leftOut.length - 5} more left out`);
  element('state').textContent = texts.join('; ');
  const chosen = element('target').value, choices = paths.length > 0 ? targets(paths) : [];
  element('target').replaceChildren(...choices.map(path => new Option(path === '.' ? 'all files' : path, path)));
  if (choices.includes(chosen)) element('target').value = chosen;
  showButtons();
  checkIfWanted();
}

function checkIfWanted() {
  if (!wantsCheck || waiting.length > 0 || running || paths.length === 0) return;
  wantsCheck = false;
  const {command, target} = firstCheck(paths);
  element('target').value = target;
  run(command, target);
}

// ---- Commands

function run(command, target) {
  const words = [...wordsFor(command, target, paths), ...splitWords(element('options').value)];
  running = words;
  lines = [];
  element('result').hidden = false;
  element('command').textContent = ['strata', ...words.slice(0, 12), ...(words.length > 12 ? ['…'] : [])].join(' ');
  element('ended').textContent = 'Running…';
  element('ended').className = '';
  element('output').textContent = '';
  element('save').replaceChildren();
  element('report').hidden = true;
  showButtons();
  worker.postMessage(command === 'report' ? {run: [...words, '--output', REPORT], page: REPORT} : {run: words});
}

function showEnd({code, html, milliseconds}) {
  if (!running) return;  // it was stopped
  const verdict = verdictOf(running, code, lines.map(({line}) => line));
  running = null;
  element('ended').textContent = `${verdict.text} (${(milliseconds / 1000).toFixed(1)} s)`;
  element('ended').className = verdict.kind;
  showLines();
  save('output.txt', 'text/plain', lines.map(({line}) => line).join('\n') + '\n', 'Save this text');
  if (html) {
    save('report.html', 'text/html', html, 'Save the report');
    element('report').srcdoc = html;
    element('report').hidden = false;
  }
  showButtons();
  checkIfWanted();
}

function showFailure({failed, isBroken}) {
  if (!isBroken) {
    waiting.shift();
    element('state').textContent = failed;
    showButtons();
    checkIfWanted();
  } else if (running) {
    element('ended').textContent = `The program ended: ${failed}. If memory ran out, check fewer files at a time, or use strata on a command line.`;
    element('ended').className = 'bad';
    showLines();
    restart();
  } else {
    cannotRun = `This browser cannot run the program: ${failed}. Use a newer one.`;
    element('state').textContent = cannotRun;
  }
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
  element('commands').hidden = paths.length === 0;
  for (const button of element('buttons').querySelectorAll('button')) button.disabled = running !== null || waiting.length > 0;
  element('stop').hidden = running === null;
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
element('commands').onsubmit = event => event.preventDefault();
element('stop').onclick = () => {
  element('ended').textContent = 'Stopped';
  element('ended').className = '';
  restart();
};
element('clear').onclick = () => {
  dropped = [];
  waiting = [];
  paths = [];
  element('result').hidden = true;
  element('state').textContent = NOTHING;
  restart();
};

start();
