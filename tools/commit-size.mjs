// Says which commits are larger than one can review: `node tools/commit-size.mjs [base]`. It looks at the commits since
// `base`; without one, at those that are not on main yet, and on main itself at the newest ten. Generated files, which
// .gitattributes names, do not count. It only says so: some changes cannot be cut.
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const MAX_LINES = 2_000;
const NEWEST = 10;

/**
 * Commits with more changed lines than `maxLines`, newest first; `range` is as for `git log`. The first commit of all, and
 * the last one of a shallow clone, have nothing to be compared with.
 */
export function largeCommits(cwd, range, maxLines = MAX_LINES) {
  const git = gitIn(cwd);
  const log = git('log', '--min-parents=1', '--max-parents=1', '--numstat', '-M', '-z', '--format=%x01%h %s', ...range);
  const commits = log.split('\x01').slice(1).map(parseCommit);
  const files = new Set(commits.flatMap(({ changes }) => changes.map(({ file }) => file)));
  const generated = generatedOf(git, [...files]);
  return commits
    .map(({ title, changes }) => {
      const own = changes.filter(({ file }) => !generated.has(file));
      return { title, lines: own.reduce((sum, { lines }) => sum + lines, 0) };
    })
    .filter(({ lines }) => lines > maxLines);
}

const gitIn =
  (cwd) =>
  (...args) =>
    execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });

/** `added TAB deleted TAB path NUL`; of a renamed file `added TAB deleted TAB NUL old path NUL new path NUL`. */
function parseCommit(text) {
  const [title, ...fields] = text.split('\0');
  const changes = [];
  for (let at = 0; at < fields.length; at++) {
    const [, added, deleted, path] = /^\n?(\d+|-)\t(\d+|-)\t(.*)$/s.exec(fields[at]) ?? [];
    if (added === undefined) continue;
    const isRenamed = path === '';
    const file = isRenamed ? fields[at + 2] : path;
    if (isRenamed) at += 2;
    // Git counts no lines of a binary file.
    changes.push({ file, lines: added === '-' ? 0 : Number(added) + Number(deleted) });
  }
  return { title, changes };
}

function generatedOf(git, files) {
  const generated = new Set();
  for (let at = 0; at < files.length; at += 500) {
    const answer = git('check-attr', '-z', 'linguist-generated', '--', ...files.slice(at, at + 500)).split('\0');
    for (let field = 0; field + 2 < answer.length; field += 3)
      if (answer[field + 2] === 'set') generated.add(answer[field]);
  }
  return generated;
}

/** What `git log` gets: the commits of a branch that are not on main, or the newest ones of main. */
function defaultRange(cwd) {
  const git = gitIn(cwd);
  const mains = ['origin/main', 'main'].filter((name) => {
    return git('for-each-ref', `refs/heads/${name}`, `refs/remotes/${name}`) !== '';
  });
  const isAhead = mains.length > 0 && git('rev-list', '-n', '1', 'HEAD', `^${mains[0]}`) !== '';
  return isAhead ? ['HEAD', `^${mains[0]}`] : ['-n', String(NEWEST), 'HEAD'];
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [base] = process.argv.slice(2);
  const range = base === undefined ? defaultRange('.') : [`${base}..HEAD`];
  const large = largeCommits('.', range);
  for (const { title, lines } of large)
    console.log(`LARGE COMMIT: ${title}: ${lines} changed lines; at most about ${MAX_LINES} can be reviewed at once`);
  if (large.length === 0) console.log(`no commit changes more than ${MAX_LINES} lines without generated files`);
}
