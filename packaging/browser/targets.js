// Says what to check of the files that were dropped.
'use strict';

// Returns the folders of submitters: each has results/SYSTEM/BENCHMARK/ and systems/.
function submitters(paths) {
  const found = new Set();
  for (const path of paths) {
    const parts = path.split('/');
    for (let i = 0; i + 3 < parts.length; ++i) {
      if (parts[i] === 'results') found.add(parts.slice(0, i).join('/'));
    }
  }
  return [...found].filter(folder => paths.some(path => path.startsWith(folder ? `${folder}/systems/` : 'systems/')))
      .map(folder => folder || '.').sort();
}

// Returns the command that tells most about these paths: {command: "check package", target: "Acme"}.
function firstCheck(paths) {
  const found = submitters(paths);
  if (found.length === 1) return {command: 'check package', target: found[0]};
  const parents = new Set(found.map(path => path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'));
  if (found.length > 1 && parents.size === 1) return {command: 'check round', target: [...parents][0]};
  return {command: 'check log', target: topFolders(paths)[0]};
}

// Returns the folders and files that a user may choose: what was dropped, what is checked first, and each submitter.
function targets(paths) {
  return [...new Set([...topFolders(paths), firstCheck(paths).target, ...submitters(paths)])];
}

function topFolders(paths) {
  const tops = [...new Set(paths.map(path => path.split('/')[0]))].sort();
  return tops.length === 1 ? tops : ['.', ...tops];
}

// Returns the words of a command. In a folder, `check log` takes only logs that are named result_*.txt; if there are none, all
// files are its logs.
function wordsFor(command, target, paths) {
  const words = command.split(' ');
  const inside = target === '.' ? paths : paths.filter(path => path.startsWith(`${target}/`));
  const isFolder = inside.length > 0, hasResults = inside.some(path => /(^|\/)result_[^/]*\.txt$/.test(path));
  return command === 'check log' && isFolder && !hasResults ? [...words, ...inside] : [...words, target];
}

// Splits what a user typed as a shell does, with quotes.
function splitWords(text) {
  const words = text.match(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g) ?? [];
  return words.map(word => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}

// Returns the verdict for a person: {text, kind}, where kind is "good", "bad", "open" or "". `code` is the program's exit code.
function verdictOf(words, code, lines) {
  const isCheck = words[0] === 'check' && !words.some(word => ['-h', '--help'].includes(word));
  if (code === 2) return {text: 'Not all is done: see the messages below', kind: 'bad'};
  if (code !== 0) return {text: 'Failed', kind: 'bad'};
  if (!isCheck) return {text: 'Done', kind: ''};
  // A verdict, or the outcome in a row of a round's table, whose head says "not judged", too.
  const isOpen = line => /^\s*not judged\b/.test(line) || (/\s{2}not judged\s/.test(line) && !line.startsWith('submitter '));
  return lines.some(isOpen) ? {text: 'Passed; some of it was not judged', kind: 'open'} : {text: 'Passed', kind: 'good'};
}
