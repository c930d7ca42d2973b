// Says what to check of the files that were dropped.
'use strict';

// Returns the folders of submissions: each has logs in results/SYSTEM/BENCHMARK/.
function submissions(paths) {
  const found = new Set();
  for (const path of paths) {
    const parts = path.split('/');
    for (let i = 0; i + 3 < parts.length; ++i) {
      if (parts[i] === 'results' && isResult(parts[i + 3])) found.add(parts.slice(0, i).join('/') || '.');
    }
  }
  return [...found].sort();
}

const isResult = name => /^result_.*\.txt$/.test(name);
const isIn = (folder, path) => folder === '.' || path === folder || path.startsWith(`${folder}/`);

// Returns the command that tells most about the paths of a drop, {command: "check package", target: "Acme", note}. The note says
// what it leaves out, or is empty.
function firstCheck(paths) {
  const found = submissions(paths), parents = new Set(found.map(path => path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'));
  const incomplete = found.filter(folder => !paths.some(path => isIn(folder === '.' ? 'systems' : `${folder}/systems`, path)));
  const logs = note => ({command: 'check log', target: topFolders(paths)[0], note});
  if (found.length === 0) return logs('');
  if (incomplete.length > 0) return logs(`only logs were checked, because ${incomplete[0] === '.' ? 'the submission' : incomplete[0]} has no systems/`);
  if (found.length > 1 && parents.size > 1) return logs('only logs were checked; choose a submission to check it whole');
  const target = found.length === 1 ? found[0] : [...parents][0];
  const outside = paths.filter(path => !isIn(target, path));
  const note = outside.length === 0 ? '' : `${outside[0]}${outside.length > 1 ? ` and ${outside.length - 1} more` : ''} not checked`;
  return {command: found.length === 1 ? 'check package' : 'check round', target, note};
}

// Returns the folders and files that a user may choose: what was dropped, what is checked first, and each submission.
function targets(paths) {
  return [...new Set([...topFolders(paths), firstCheck(paths).target, ...submissions(paths)])];
}

function topFolders(paths) {
  const tops = [...new Set(paths.map(path => path.split('/')[0]))].sort();
  return tops.length === 1 ? tops : ['.', ...tops];
}

const MOST_LOGS = 2000;  // named on a command line

// Returns the words of a command. In a folder, `check log` takes only logs that are named result_*.txt: so other files at the top
// are named, and without any result_*.txt all files. Throws Error if these are too many.
function wordsFor(command, target, paths) {
  const words = command.split(' ');
  const named = path => /^[-[]/.test(path) ? `./${path}` : path;  // neither an option nor a list
  const inside = paths.filter(path => isIn(target, path));
  if (command !== 'check log' || inside.join() === target) return [...words, named(target)];
  const others = inside.filter(path => !isResult(path.split('/').pop()));
  if (others.length < inside.length) return [...words, named(target), ...(target === '.' ? others.filter(path => !path.includes('/')) : []).map(named)];
  if (inside.length > MOST_LOGS) throw new Error(`there is no result_*.txt, but ${inside.length} other files: drop the logs alone`);
  return [...words, ...inside.map(named)];
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
  if (words.includes('--json') || words.includes('--github')) return {text: 'Nothing failed: see the verdicts below', kind: ''};
  // A verdict, or the outcome in a row of a round's table, whose head says "not judged", too.
  const isOpen = line => /^\s*not judged\b/.test(line) || (/\s{2}not judged\s/.test(line) && !line.startsWith('submitter '));
  return lines.some(isOpen) ? {text: 'Passed; some of it was not judged', kind: 'open'} : {text: 'Passed', kind: 'good'};
}
