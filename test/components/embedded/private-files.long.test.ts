import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { openStore, temporaryDirectory } from '../../support/embedded-store.ts';

const script = fileURLToPath(new URL('./store-child.mjs', import.meta.url));
const ONE_USER = 12_345;
const OTHER_USER = 12_346;
const isRoot = process.getuid?.() === 0;

let node = process.execPath;

/** Opens the state in a process of its own, which is killed then. */
function openIn(path: string, { umask = '022', uid }: { umask?: string; uid?: number } = {}): SpawnSyncReturns<string> {
  const command = `umask ${umask}; exec "${node}" "${script}" die "${path}"`;
  return spawnSync('sh', ['-c', command], { encoding: 'utf8', ...(uid === undefined ? {} : { uid, gid: uid }) });
}

/** By name, in octal. */
function modesIn(path: string): Record<string, string> {
  const modeOf = (name: string): string => (lstatSync(join(path, name)).mode & 0o777).toString(8);
  // A process that is killed may have opened its socket, or not yet.
  const files = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ name }) => [name, modeOf(name)]));
}

const OPENED = { signal: 'SIGKILL', stdout: 'open\n' };
const PRIVATE = { 'holder.json': '600', 'state.db': '600', 'state.db-wal': '600' };

describe.skipIf(process.platform === 'win32')('files of a state directory', () => {
  test.each(['000', '022', '077', '277'])('are for their user only, with umask %s in a directory for all', (umask) => {
    const path = temporaryDirectory();
    chmodSync(path, 0o755);
    expect(openIn(path, { umask })).toMatchObject(OPENED);
    expect(modesIn(path)).toEqual(PRIVATE);
  });

  test.each(['000', '022', '077'])('directories that are made are for their user only, with umask %s', (umask) => {
    const path = join(temporaryDirectory(), 'made', 'too');
    expect(openIn(path, { umask })).toMatchObject(OPENED);
    expect([lstatSync(path), lstatSync(join(path, '..'))].map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o700]);
  });

  test('that an earlier release has left for all to read are made private', async () => {
    const path = temporaryDirectory();
    openIn(path);
    for (const name of readdirSync(path)) chmodSync(join(path, name), 0o644);
    await openStore(path);
    expect(modesIn(path)).toEqual(PRIVATE);
  });

  test.each(['holder.json', 'state.db', 'state.db-wal', 'state.db-shm'])(
    'are no links: %s is refused, and what it leads to stays as it is',
    async (name) => {
      const [path, victim] = [temporaryDirectory(), join(temporaryDirectory(), 'victim')];
      writeFileSync(victim, '');
      chmodSync(victim, 0o644);
      symlinkSync(victim, join(path, name));
      await expect(openStore(path)).rejects.toMatchObject({
        kind: 'read-only',
        message: expect.stringMatching(new RegExp(`${name}" of the state directory is a link`)),
      });
      expect([readFileSync(victim, 'utf8'), lstatSync(victim).mode & 0o777]).toEqual(['', 0o644]);
    },
  );

  test('a link that leads nowhere yet is refused, too', async () => {
    const [path, victim] = [temporaryDirectory(), join(temporaryDirectory(), 'victim')];
    symlinkSync(victim, join(path, 'state.db'));
    await expect(openStore(path)).rejects.toThrow('is a link');
    expect(lstatSync(victim, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('a directory behind a link is used', async () => {
    const [path, link] = [temporaryDirectory(), join(temporaryDirectory(), 'link')];
    symlinkSync(path, link);
    await openStore(link);
    expect(modesIn(path)).toMatchObject(PRIVATE);
  });
});

describe.runIf(isRoot)('owners of a state directory', () => {
  // What npm has fetched lies in the home of root, where nobody else may run it.
  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'insidecar-node-'));
    chmodSync(folder, 0o755);
    node = join(folder, 'node');
    copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
    chmodSync(node, 0o755);
    return () => rmSync(folder, { recursive: true, force: true });
  });

  /** For other users to come to. */
  function directoryOf(uid: number, mode: number): string {
    const path = join(temporaryDirectory(), 'state');
    chmodSync(join(path, '..'), 0o755);
    mkdirSync(path);
    chmodSync(path, mode);
    chownSync(path, uid, uid);
    return path;
  }

  test('that of another user is refused, with what to do', () => {
    const path = directoryOf(ONE_USER, 0o777);
    const { status, stdout } = openIn(path, { uid: OTHER_USER });
    expect(status).toBe(1);
    expect(stdout).toContain(`read-only: The state directory ${JSON.stringify(path)} belongs to user ${ONE_USER}`);
    expect(stdout).toContain(`chown -R ${OTHER_USER}`);
    expect(readdirSync(path)).toEqual([]);
  });

  test.each([
    ['its own', ONE_USER, 0o700, ONE_USER],
    ["root's, such as a volume", 0, 0o777, ONE_USER],
    ['that of a user, for root, such as a directory of the host in a container', ONE_USER, 0o700, 0],
  ])('a process may use %s', (_, owner, mode, uid) => {
    const path = directoryOf(owner, mode);
    for (let count = 0; count < 2; count++) expect(openIn(path, { uid })).toMatchObject(OPENED);
    expect(modesIn(path)).toEqual(PRIVATE);
  });

  test('what root does with the state of a user is still the state of that user', () => {
    const path = directoryOf(ONE_USER, 0o700);
    for (const uid of [ONE_USER, 0, ONE_USER]) expect(openIn(path, { uid })).toMatchObject(OPENED);
    for (const name of readdirSync(path)) expect([name, lstatSync(join(path, name)).uid]).toEqual([name, ONE_USER]);
  });

  test.each(['holder.json', 'state.db', 'state.db-wal'])(
    'a file of somebody else in a directory for all is refused: %s',
    (name) => {
      const path = directoryOf(ONE_USER, 0o777);
      writeFileSync(join(path, name), '');
      chmodSync(join(path, name), 0o666);
      chownSync(join(path, name), OTHER_USER, OTHER_USER);
      for (const uid of [ONE_USER, 0]) {
        const { status, stdout } = openIn(path, { uid });
        expect([status, stdout]).toEqual([
          1,
          expect.stringContaining(`${name}" of the state directory belongs to user`),
        ]);
      }
    },
  );
});
