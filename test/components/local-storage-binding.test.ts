import { access, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localStorageBinding } from '../../src/index.ts';
import { type BindingsWorld, bindingsWorld, createBindingsWorld } from '../support/bindings-world.ts';
import { WIRES } from '../support/stores-world.ts';

let directory: string;
let rootPath: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'insidecar-files-'));
  rootPath = join(directory, 'root');
});

afterEach(() => rm(directory, { recursive: true }));

const world = (wire: 'sidecar' | 'dapr' = 'sidecar', options: object = {}): Promise<BindingsWorld> =>
  bindingsWorld({ wire, components: [localStorageBinding('files', { rootPath, ...options })], hasApp: false });

const call = (to: BindingsWorld, operation: string, fileName?: string, data?: unknown) =>
  to.invoke('files', { operation, data, metadata: fileName === undefined ? {} : { fileName } });

const errorOf = (text: string): { readonly errorCode: string; readonly message: string } => JSON.parse(text) as never;

/** All that there is outside of the root. */
const outside = async (): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true })).filter((name) => !name.startsWith('root'));

describe.each(WIRES)('bindings.localstorage, wire %s', (wire) => {
  test('creates, gets, lists and deletes', async () => {
    await using own = await world(wire);
    const created = await call(own, 'create', 'a/b/hello.txt', 'hällo <b>');
    expect([created.status, created.text]).toEqual([200, '{"fileName":"a/b/hello.txt"}']);
    expect(await readFile(join(rootPath, 'a/b/hello.txt'), 'utf8')).toBe('hällo <b>');
    await call(own, 'create', 'z.json', { n: 1 });
    expect((await call(own, 'get', 'z.json')).text).toBe('{"n":1}');
    expect((await call(own, 'list')).text).toBe('["a/b/hello.txt","z.json"]');
    expect((await call(own, 'list', 'a')).text).toBe('["a/b/hello.txt"]');
    const deleted = await call(own, 'delete', 'a/b/hello.txt');
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await call(own, 'list', 'a')).text).toBe('[]');
    expect(errorOf((await call(own, 'get', 'a/b/hello.txt')).text)).toEqual({
      errorCode: 'ERR_INVOKE_OUTPUT_BINDING',
      message: 'error invoking output binding files: file "a/b/hello.txt": there is no such file',
    });
  });

  test('a name that is not given is a UUID, which the answer tells', async () => {
    await using own = await world(wire);
    const { fileName } = JSON.parse((await call(own, 'create', undefined, 'x')).text) as { readonly fileName: string };
    expect(fileName).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect((await call(own, 'get', fileName)).text).toBe('x');
  });
});

test.each([
  ['a text', '"hello, world"', 'hello, world'],
  ['base64', '"aGVsbG8="', 'hello'],
  ['base64 in lines', '"aGVs\\r\\nbG8="', 'hello'],
  ['almost base64', '"aGVsbG8"', 'aGVsbG8'],
  ['a number whose digits base64 has', '1234', '1234'],
  ['a number with all digits', '12345678901234567890.10', '12345678901234567890.10'],
  ['an object', '{"a": 1}', '{"a": 1}'],
  ['null', 'null', 'null'],
  ['an empty text', '""', ''],
])('writes %s', async (_what, data, content) => {
  await using own = await world();
  await own.invoke('files', `{"operation":"create","data":${data},"metadata":{"fileName":"f"}}`);
  expect(await readFile(join(rootPath, 'f'), 'utf8')).toBe(content);
});

test('bytes survive', async () => {
  await using own = await world();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  await call(own, 'create', 'bytes', bytes.toString('base64'));
  expect(await readFile(join(rootPath, 'bytes'))).toEqual(bytes);
});

describe('no way out', () => {
  test.each([
    '../out.txt',
    '../../../../../../out.txt',
    'a/../../out.txt',
    '/out.txt',
    './../out.txt',
    '..//../out.txt',
  ])('by the name %s', async (name) => {
    await using own = await world();
    expect((await call(own, 'create', name, 'x')).text).toBe('{"fileName":"out.txt"}');
    expect((await call(own, 'get', name)).text).toBe('x');
    expect(await outside()).toEqual([]);
    expect(await readFile(join(rootPath, 'out.txt'), 'utf8')).toBe('x');
  });

  test.each(['..', '/', '.', '', 'a/..', '../..'])('the root itself is no file: %j', async (name) => {
    await using own = await world();
    await call(own, 'create', 'kept', 'x');
    for (const operation of ['get', 'delete'])
      expect(errorOf((await call(own, operation, name)).text).message).toContain('fileName is missing');
    await access(rootPath);
  });

  test('by links to directories, to files, and to nothing', async () => {
    await using own = await world();
    await mkdir(join(directory, 'secret'));
    await writeFile(join(directory, 'secret/file'), 'hidden');
    await symlink(join(directory, 'secret'), join(rootPath, 'directory'));
    await symlink(join(directory, 'secret/file'), join(rootPath, 'file'));
    await symlink(join(directory, 'secret/new'), join(rootPath, 'nothing'));
    await symlink('../secret', join(rootPath, 'relative'));
    for (const name of ['directory/file', 'file', 'nothing', 'relative/file']) {
      const { status, text } = await call(own, 'get', name);
      expect([name, status]).toEqual([name, 500]);
      expect(text).not.toContain('hidden');
      expect(text).not.toContain(directory);
    }
    for (const name of ['directory/new', 'directory/sub/new', 'relative/new'])
      expect((await call(own, 'create', name, 'x')).status).toBe(500);
    expect((await call(own, 'delete', 'directory/file')).status).toBe(500);
    expect((await call(own, 'list', 'directory')).status).toBe(500);
    expect((await call(own, 'list')).text).toBe('[]');
    // A file of that name takes the place of the link.
    expect((await call(own, 'create', 'nothing', 'x')).status).toBe(200);
    expect((await call(own, 'delete', 'file')).status).toBe(204);
    expect([...(await outside())].sort()).toEqual(['secret', 'secret/file']);
    expect(await readFile(join(directory, 'secret/file'), 'utf8')).toBe('hidden');
  });

  test('links that stay inside are followed', async () => {
    await using own = await world();
    await call(own, 'create', 'a/file', 'x');
    await symlink(join(rootPath, 'a'), join(rootPath, 'b'));
    expect((await call(own, 'get', 'b/file')).text).toBe('x');
  });
});

test.each([
  ['get', 'a\0b', 'NUL'],
  ['create', 'a\0b', 'NUL'],
  ['get', 'x'.repeat(300), 'its name is too long'],
  ['create', `${'x'.repeat(300)}/y`, 'its name is too long'],
  ['create', 'file/below', 'a part of its path is no directory'],
  ['get', 'file/below', 'a part of its path is no directory'],
  ['get', 'full', 'it is a directory'],
  ['create', 'full', 'it is a directory'],
  ['delete', 'full', 'a directory that is not empty'],
  ['delete', 'nothing', 'there is no such file'],
  ['list', 'file', 'a part of its path is no directory'],
  ['list', 'nothing', 'there is no such file'],
])('%s of %j: %s', async (operation, name, problem) => {
  await using own = await world();
  await call(own, 'create', 'file', 'x');
  await call(own, 'create', 'full/file', 'x');
  const { status, text } = await call(own, operation, name, 'y');
  expect([status, errorOf(text).errorCode]).toEqual([500, 'ERR_INVOKE_OUTPUT_BINDING']);
  expect(errorOf(text).message).toContain(problem);
  expect(text).not.toContain(directory);
  expect((await call(own, 'list')).text).toBe('["file","full/file"]');
});

test('an empty directory can be deleted, a file over the limit not be read', async () => {
  await using own = await world('sidecar', { maxFileBytes: 3 });
  await mkdir(join(rootPath, 'empty'));
  expect((await call(own, 'delete', 'empty')).status).toBe(204);
  await call(own, 'create', 'large', 'four!');
  expect(errorOf((await call(own, 'get', 'large')).text).message).toContain('it is larger than 3 bytes');
});

test('readers see the file before or after a write, never a part of it; nothing else is left', async () => {
  await using own = await world();
  const contents = ['a', 'b'].map((letter) => letter.repeat(1_000_003));
  await call(own, 'create', 'f', contents[0]);
  const writing = (async () => {
    for (let round = 0; round < 20; round++) await call(own, 'create', 'f', contents[round % 2]);
  })();
  let isWriting = true;
  void writing.finally(() => {
    isWriting = false;
  });
  while (isWriting) expect(contents).toContain(await readFile(join(rootPath, 'f'), 'utf8'));
  await writing;
  expect(await readdir(rootPath)).toEqual(['f']);
});

test('what a crash has left is not shown, and cannot be named', async () => {
  await using own = await world();
  const left = '.insidecar-00000000-0000-4000-8000-000000000000';
  await writeFile(join(rootPath, left), 'half');
  expect((await call(own, 'list')).text).toBe('[]');
  for (const operation of ['get', 'create', 'delete'])
    expect(errorOf((await call(own, operation, left, 'x')).text).message).toContain("one of insidecar's own");
});

test.each(['/proc/self', '/sys/x', '/boot'])('refuses the root %s', async (path) => {
  await using own = await createBindingsWorld({ components: [localStorageBinding('files', { rootPath: path })] });
  await expect(own.start()).rejects.toThrow('it belongs to the system');
});

test('a root that is a file stops the start, unless errors are ignored', async () => {
  await writeFile(rootPath, '');
  const definition = localStorageBinding('files', { rootPath });
  await using own = await createBindingsWorld({ components: [definition] });
  await expect(own.start()).rejects.toThrow('rootPath of localStorageBinding "files": the directory cannot be used');
  await using tolerant = await bindingsWorld({ components: [{ ...definition, ignoreErrors: true }], hasApp: false });
  const { status, text } = await call(tolerant, 'get', 'x');
  expect([status, errorOf(text).errorCode]).toEqual([500, 'ERR_INVOKE_OUTPUT_BINDING']);
  expect(await tolerant.metadata()).toEqual([]);
  expect(tolerant.logger.at('error').map(({ message }) => message)).toEqual([
    'a component cannot be opened: left out, because ignoreErrors is set',
  ]);
});

test('refuses wrong options', () => {
  expect(() => localStorageBinding('files', {} as never)).toThrow('rootPath');
  expect(() => localStorageBinding('files', { rootPath: 'x', maxFileBytes: 0 })).toThrow('maxFileBytes');
});
