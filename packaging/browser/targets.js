// Says what to check of the files that were dropped.
'use strict';

// Returns the folders of submitters: each has systems, or benchmarks with logs, below results/.
function submitters(paths) {
  const found = new Set();
  for (const path of paths) {
    const match = /^(.*?)\/?results\/[^/]+\/[^/]+\/.*[^/]$/.exec(path);
    if (match) found.add(match[1] === '' ? '.' : match[1]);
  }
  return [...found].sort();
}

// Returns the command that tells most about these paths: {command: "check package", target: "Acme"}.
function firstCheck(paths) {
  const found = submitters(paths);
  if (found.length === 1) return {command: 'check package', target: found[0]};
  const parents = new Set(found.map(path => path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'));
  if (found.length > 1 && parents.size === 1) return {command: 'check round', target: [...parents][0]};
  return {command: 'check log', target: targets(paths)[0]};
}

// Returns the folders and files that a user may choose: what was dropped, then each submitter.
function targets(paths) {
  const tops = new Set(paths.map(path => path.split('/')[0]));
  const first = tops.size === 1 ? [...tops] : ['.', ...[...tops].sort()];
  return [...new Set([...first, ...submitters(paths)])];
}

// Returns the folder that holds mlperf_logging's rules, or null.
function ruleFolder(paths) {
  for (const path of paths) {
    const match = /^(.*\/)?mlperf_logging\/compliance_checker\//.exec(path);
    if (match) return match[1] ?? '';
  }
  return null;
}
