// The page: takes files, has the worker check them, and shows what it says.
'use strict';

const element = id => document.getElementById(id);
const NOTHING = 'Nothing to check yet.';
const REPORT = '/report.html';
const MOST_LINES = 20000;  // shown; the saved text has all

let worker = null;
let cannotRun = '';         // why this browser cannot run the program
let dropped = [];           // lists of {path, file} that the worker has read, for a new worker
let waiting = [];           // {files, isNew}: lists that it is reading, one for each answer
let failures = [];          // texts: drops that could not be read
let clears = 0;             // how often all files were removed
let paths = [];             // of the files to check
let wanted = null;          // the first check, which follows when all is read and no command runs
let chosen = '';            // what the commands check
let last = null;            // the last {command, target, note}; the note says what it leaves out
let hasLoaded = false;
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
  waiting = [...dropped.map(files => ({files, isNew: false})), ...waiting];
  dropped = [];
  paths = [];
  wanted = null;
  for (const {files} of waiting) worker.postMessage({drop: files});
  showButtons();
}

// The first lines are those of `strata --version`.
function showVersion() {
  element('version').textContent = lines.slice(0, 2).map(({line}) => line).join(', ');
  lines = [];
  hasLoaded = true;
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
  waiting.push({files, isNew: true});
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

function showAdded({paths: all, size, rules, added, newRules, leftOut, replaced}) {
  const {files, isNew} = waiting.shift();
  dropped.push(files);
  paths = all;
  if (isNew && added.length > 0) wanted = firstCheck(added);
  else if (isNew && newRules > 0 && last) wanted = last;
  else if (isNew && newRules === 0) failures.push(`${files[0].path}: there are no files in it`);
  const texts = [`${counted(paths.length, 'file')} to check, ${(size / 1e6).toFixed(1)} MB`];
  if (rules.length > 0) texts.push(`rules of ${rules.join(' and ')} added`);
  if (replaced.length > 0) texts.push(`replaced: ${replaced.join(', ')}`);
  texts.push(...leftOut.slice(0, 5).map(text => `left out: ${text}`));
  if (leftOut.length > 5) texts.push(`and ${leftOut.length - 5} more left out`);
  element('state').textContent = [...texts, ...failures].join('; ');
  const choices = paths.length > 0 ? targets(paths) : [];
  element('target').replaceChildren(...choices.map(path => new Option(path === '.' ? 'all files' : path, path)));
  if (choices.includes(chosen)) element('target').value = chosen;
  showButtons();
  checkIfWanted();
}

function checkIfWanted() {
  if (!wanted || waiting.length > 0 || running) return;
  const {command, target, note} = wanted;
  wanted = null;
  const choices = Array.from(element('target').options, option => option.value);
  if (choices.includes(target)) element('target').value = chosen = target;
  run(command, target, note);
}

// ---- Commands

function run(command, target, note = '') {
  let words;
  try {
    words = [...wordsFor(command, target, paths), ...splitWords(element('options').value)];
  } catch (error) {
    element('state').textContent = error.message;
    return;
  }
  running = words;
  last = {command, target, note};
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

function showEnd({code, html, written, milliseconds}) {
  if (!running) return;  // it was stopped
  const {note} = last, verdict = verdictOf(running, code, lines.map(({line}) => line));
  running = null;
  element('ended').textContent = `${verdict.text}${note ? `; ${note}` : ''} (${(milliseconds / 1000).toFixed(1)} s)`;
  element('ended').className = note && verdict.kind === 'good' ? 'open' : verdict.kind;
  showLines();
  save('output.txt', 'text/plain', lines.map(({line}) => line).join('\n') + '\n', 'Save this text');
  for (const {path, bytes} of written) save(path.split('/').pop(), 'application/octet-stream', bytes, `Save ${path}`);
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
    failures.push(failed);
    element('state').textContent = [`${counted(paths.length, 'file')} to check`, ...failures].join('; ');
    showButtons();
    checkIfWanted();
  } else if (running) {
    element('ended').textContent = `The program ended: ${failed}. If memory ran out, check fewer files at a time, or use strata on a command line.`;
    element('ended').className = 'bad';
    showLines();
    restart();
  } else if (hasLoaded) {
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
  element('commands').hidden = paths.length + waiting.length === 0;
  for (const button of element('buttons').querySelectorAll('button')) button.disabled = running !== null || waiting.length > 0;
  element('stop').hidden = running === null && waiting.length === 0;
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
  const before = clears;
  try {
    const files = await filesOf(Array.from(event.dataTransfer.items).filter(item => item.kind === 'file'));
    if (before === clears) add(files);
  } catch (error) {
    element('state').textContent = `What was dropped cannot be read: ${error.message}. Choose it by a button above.`;
  }
});
element('buttons').onclick = event => {
  const command = event.target.dataset.command;
  if (command) run(command, element('target').value);
};
element('target').onchange = () => { chosen = element('target').value; };
element('commands').onsubmit = event => {
  event.preventDefault();
  if (last && !running && waiting.length === 0) run(last.command, last.target);
};
element('stop').onclick = () => {
  element('ended').textContent = 'Stopped';
  element('ended').className = '';
  if (!running) waiting = [];  // a drop that takes too long
  restart();
};
element('clear').onclick = () => {
  dropped = [];
  waiting = [];
  failures = [];
  last = null;
  ++clears;
  for (const id of ['command', 'ended', 'output']) element(id).textContent = '';
  element('result').hidden = true;
  element('state').textContent = NOTHING;
  restart();
};

start();
