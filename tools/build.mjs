// Builds `dist`: npm run build.
//
// The code is bundled once, as CommonJS: Jest and other programs that call require() can load nothing else. What is
// imported is a list of the same exports, so one copy of the code is in memory however many files import it and however
// many require it: sidecars of one process find each other through maps of that one copy. A second build beside it would
// be a second copy, and sidecars of two copies would both own the same store.
//
// Some packages are bundled in (INLINED): those that are ES modules only and cannot be required everywhere, and those
// of vendored.mjs.
import { execFileSync, spawn } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { buildPage } from './build-page.mjs';
import { DEFERRED, isDeferred, loadOnDemand } from './deferred.mjs';
import { declarationsOf, ENTRIES, importOf, SHARED_BY_TECHNOLOGIES, TECHNOLOGIES } from './entries.mjs';
import { keepLines } from './source-maps.mjs';
import { minify, testOf, vendoredFiles } from './vendored.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const types = join(dist, 'types');

const COMMAND = { cli: 'src/cli/main.ts' };
/** A file of its own, with all that it needs: a thread starts with it. */
const WORKER = { 'embedded-worker': 'src/components/embedded/worker.ts' };

const VENDORED = vendoredFiles(root);
const INLINED = ['@marcbachmann/cel-js', ...VENDORED.flatMap(({ packages }) => packages)];
/** The ES modules of yaml, from which the bundler can leave out what is not used. */
const YAML = join(root, 'node_modules/yaml/browser/dist/index.js');
const TECHNOLOGY_FILES = Object.entries({ ...TECHNOLOGIES, ...SHARED_BY_TECHNOLOGIES });
const FOLDERS = TECHNOLOGY_FILES.map(([folder]) => folder).join('|');
/**
 * The files that entries share, and what belongs into each; the first that fits gets it. What every sidecar needs are
 * several, one for each layer: V8 takes memory in proportion to the largest file that it parses, and Node's process
 * keeps it. Of a layer, none needs those above at once. The little that the command needs before it knows what to do is
 * another.
 */
const SHARED = [
  {
    name: 'base',
    test: /\/src\/(errors|version|state\/errors|util\/(cancel-token|clock|harmless-text|linked|outside|suggest|thrown))\.ts$/,
  },
  ...DEFERRED,
  { name: 'sidecar', test: /\/src\/sidecar\// },
  { name: 'workflows', test: /\/src\/blocks\/workflow\// },
  { name: 'jobs', test: /\/src\/blocks\/jobs\// },
  { name: 'pubsub', test: /\/src\/blocks\/pubsub\// },
  { name: 'tls', test: /\/src\/components\/tls-fields\.ts$/ },
  {
    name: 'core',
    test: new RegExp(
      `/src/(?!index\\.ts|cli/|components/(?:${FOLDERS})/|dapr/|inspector/|kit/|otel/|resources/|testing/)`,
    ),
  },
  { name: 'inspector-server', test: /\/src\/inspector\/(?!index\.ts)/ },
  ...[...new Set(TECHNOLOGY_FILES.map(([, name]) => name))].map((name) => ({ name, test: testOfFolders(name) })),
  { name: 'resource-files', test: /\/src\/resources\/(?!index\.ts)/ },
  ...VENDORED.map(({ name, packages }) => ({ name, test: testOf(packages) })),
];

function testOfFolders(file) {
  const folders = TECHNOLOGY_FILES.filter(([, name]) => name === file).map(([folder]) => folder);
  return new RegExp(
    `/src/components/(?!(?:${Object.keys(TECHNOLOGIES).join('|')})/index\\.ts)(?:${folders.join('|')})/`,
  );
}

/** What another step of the build writes: loaded when it is needed, by this name beside the others. */
const BUILT_APART = './inspector-assets.cjs';
const IMPORTED_REQUIRE = "import { createRequire } from 'node:module';";
const CREATED_REQUIRE = 'const require = createRequire(import.meta.url);';

/** The bundler's helper for `using`, which cannot be resolved to another module, and what replaces it. */
const USING_HELPER = /@oxc-project.*\/usingCtx\.js$/;
const USING_SCOPE = await readFile(join(root, 'tools/using-scope.mjs'), 'utf8');
/** The bundler's own runtime. Its loop over exports would also see what other libraries give to all objects. */
const RUNTIME = '\0rolldown/runtime.js';
const INHERITED_LOOP = 'for (var name in all)';
const OWN_LOOP = 'for (var name of Object.keys(all))';

const options = {
  cwd: root,
  platform: 'node',
  preserveEntrySignatures: 'allow-extension',
  transform: { target: 'es2022' },
  resolve: { alias: { yaml: YAML } },
  external: (id) => /^[@a-z]/.test(id) && !INLINED.includes(id) && !id.startsWith('@oxc-project/'),
  plugins: [
    {
      name: 'using',
      transform: (_code, id) => (USING_HELPER.test(id) ? { code: USING_SCOPE, map: null } : null),
    },
    {
      name: 'own-exports',
      transform(code, id) {
        if (id !== RUNTIME) return null;
        if (!code.includes(INHERITED_LOOP)) throw new Error(`${id} has no "${INHERITED_LOOP}" to replace`);
        return { code: code.replace(INHERITED_LOOP, OWN_LOOP), map: null };
      },
    },
    {
      // The sources are ES modules, which have no require; what they become has it.
      name: 'require',
      transform(code) {
        const own = code.replace(CREATED_REQUIRE, '');
        return { code: own.includes('createRequire(') ? own : own.replace(IMPORTED_REQUIRE, ''), map: null };
      },
    },
    {
      name: 'built-apart',
      resolveId: (id) => (id === BUILT_APART ? { id, external: true } : null),
    },
  ],
  // How long plugins take says something of the machine, and nothing of what was built.
  checks: { bundlerTimings: false },
  onLog(level, log) {
    throw new Error(`rolldown, ${level}: ${log.message}`);
  },
};

/** Writes one file for each entry, and what they share beside them. */
async function bundle(input, codeSplitting) {
  const build = await rolldown({ ...options, input });
  try {
    const { output } = await build.write({
      dir: dist,
      format: 'cjs',
      strict: true,
      esModule: true,
      exports: 'named',
      dynamicImportInCjs: false,
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name].cjs',
      codeSplitting,
      comments: { jsdoc: false },
      sourcemap: true,
      sourcemapExcludeSources: true,
    });
    const chunks = output.filter((file) => file.type === 'chunk');
    await Promise.all(chunks.map(({ fileName }) => loadOnDemand(join(dist, fileName))));
    const maps = output.filter(({ fileName }) => fileName.endsWith('.map'));
    await Promise.all(maps.map(({ fileName }) => keepLines(join(dist, fileName))));
    const vendored = VENDORED.filter(({ name }) => chunks.some(({ fileName }) => fileName === `${name}.cjs`));
    await Promise.all(vendored.map(({ name }) => minify(dist, name)));
    return chunks;
  } finally {
    await build.close();
  }
}

/** What these files load at once, beside modules of Node: all else is loaded when it is needed. */
const LOADED_AT_ONCE = {
  'base.cjs': [],
  'cli.cjs': ['base.cjs'],
  'core.cjs': ['base.cjs', 'eventemitter3', 'rolldown-runtime.cjs'],
  'run.cjs': ['arguments', 'base', 'cli', 'core', 'log', 'port-holder', 'settings', 'sidecar', 'token'].map(
    (name) => `${name}.cjs`,
  ),
};

/** A sidecar that starts and stops, and then says which files are loaded. */
const STARTED = `
  const { memoryPubSub, Sidecar } = require('./dist/index.cjs');
  const sidecar = new Sidecar({ appId: 'started', components: [memoryPubSub('pubsub')] });
  const loaded = () => [...Object.keys(require.cache), ...process.moduleLoadList.map((name) => name.replace('NativeModule ', 'node:'))];
  sidecar.start().then(() => console.log(JSON.stringify(loaded()))).then(() => sidecar.stop());`;
/** Code that few need and that costs each start memory and time. */
const WAITING = /\/node_modules\/(?!eventemitter3\/)|^node:(fs\/promises|tls)$/;

function checkLoading(chunks) {
  for (const [file, allowed] of Object.entries(LOADED_AT_ONCE)) {
    const { imports } = chunks.find(({ fileName }) => fileName === file);
    const more = imports.filter((name) => !/^node:/.test(name) && !isDeferred(name) && !allowed.includes(name));
    if (more.length > 0) throw new Error(`dist/${file} loads ${more.join()} at once: import() it where it is needed`);
  }
  const loaded = JSON.parse(execFileSync(process.execPath, ['-e', STARTED], { cwd: root, encoding: 'utf8' }));
  const early = loaded.map((file) => basename(file)).filter(isDeferred);
  if (early.length > 0) throw new Error(`a start loads ${early.join()}: take what it uses out of DEFERRED`);
  const others = loaded.filter((file) => WAITING.test(file));
  if (others.length > 0) throw new Error(`a start loads ${others.join()}: put what uses it into DEFERRED`);
}

/** What `import` gets: the same exports, by name. */
async function writeImports(chunks) {
  for (const { name, exports } of chunks.filter(({ isEntry, name }) => isEntry && name in ENTRIES)) {
    await writeFile(join(dist, `${name}.mjs`), `export { ${exports.sort().join(', ')} } from './${name}.cjs';\n`);
    await writeFile(
      join(dist, `${name}.d.mts`),
      `export * from './${declarationsOf(name).replace(/\.d\.ts$/, '.js')}';\n`,
    );
  }
}

function compileTypes() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const child = spawn(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error('TypeScript found errors'))));
  });
}

/** Keeps the declarations that the entries reach. They are those of CommonJS modules, which may be imported, too. */
async function pruneTypes() {
  const reached = new Set();
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  // Optional peers, too: whoever uses these declarations has them.
  const isInstalled = (name) => name.startsWith('node:') || name in dependencies || name in peerDependencies;
  const visit = async (file) => {
    if (reached.has(file)) return;
    reached.add(file);
    const text = await readFile(file, 'utf8');
    const specifiers = [...text.matchAll(/(?:from |import\(|import )'(\.[^']+)\.ts'/g)].map(([, path]) => path);
    const packages = [...text.matchAll(/(?:from |import\()'((?:@[^/']+\/)?[^./'][^/']*)/g)].map(([, name]) => name);
    const missing = packages.filter((name) => !isInstalled(name));
    if (missing.length > 0) throw new Error(`${file} names ${missing.join()}: expected dependencies of package.json`);
    const named = text.replaceAll(/((?:from |import\(|import )'\.[^']+)\.ts'/g, "$1.js'");
    await writeFile(file, withPublicComments(named));
    for (const path of specifiers) await visit(join(dirname(file), `${path}.d.ts`));
  };
  for (const name of Object.keys(ENTRIES)) await visit(join(dist, declarationsOf(name)));
  for (const path of await readdir(types, { recursive: true, withFileTypes: true })) {
    const file = join(path.parentPath, path.name);
    if (path.isFile() && !reached.has(file)) await rm(file);
  }
  await writeFile(join(types, 'package.json'), '{ "type": "commonjs" }\n');
}

/** Without the comments of declarations that are not public: no editor shows them to users. */
function withPublicComments(declarations) {
  const declared = declarations.split(/(?<=^|[;}]\n)(?=\/\*\*)/);
  const isPublic = (one) => /^\/\*\*(?:[^*]|\*(?!\/))*@(?:public|packageDocumentation)/.test(one);
  return declared.map((one) => (isPublic(one) ? one : one.replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, ''))).join('');
}

/** The licences of the packages that are bundled in ask for it. */
async function writeNotices(packages) {
  const notices = await Promise.all(
    packages.map(async (name) => {
      const folder = join(root, 'node_modules', name);
      const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
      if (file === undefined) throw new Error(`${name} has no licence file`);
      return `${name} ${version}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`;
    }),
  );
  await writeFile(join(dist, 'NOTICES.txt'), `Part of the files here:\n\n${notices.join('\n\n')}`);
}

/** The map of exports is written by hand, in package.json: it must be that of the entries. */
async function checkExports() {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  for (const name of Object.keys(ENTRIES)) {
    const expected = {
      import: { types: `./dist/${name}.d.mts`, default: `./dist/${name}.mjs` },
      require: { types: `./dist/${declarationsOf(name)}`, default: `./dist/${name}.cjs` },
    };
    const entry = importOf(name).replace('insidecar', '.');
    if (JSON.stringify(exports[entry]) !== JSON.stringify(expected)) {
      throw new Error(`package.json, exports["${entry}"]: expected ${JSON.stringify(expected)}`);
    }
  }
}

await checkExports();
await rm(dist, { recursive: true, force: true });
await mkdir(dist);
const [chunks] = await Promise.all([
  bundle({ ...ENTRIES, ...COMMAND }, { groups: SHARED, includeDependenciesRecursively: false }),
  bundle(WORKER, false),
  compileTypes().then(pruneTypes),
  buildPage(root, dist).then((packages) => writeNotices([...INLINED, ...packages])),
]);
checkLoading(chunks);
await writeImports(chunks);
// npm makes the command of an installed package executable; here it is run as `./dist/cli.cjs`.
await chmod(join(dist, 'cli.cjs'), 0o755);
