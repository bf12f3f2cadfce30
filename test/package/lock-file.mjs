// Completes package-lock.json: a registry that serves no binaries for other platforms makes npm leave their packages out,
// and `npm ci` refuses such a lock file. `--check` writes nothing and fails when an entry is missing.
//
// The entries have no integrity: the registry that they were left out for cannot tell it. npm adds it where it can.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const platforms = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64'];

/** Where Node would look for a package, from the nearest folder upwards. */
function isPresent(from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true;
    if (folder === '') return false;
  }
}

/** `@oxc-parser/binding-linux-arm-gnueabihf` is for linux on arm with glibc. */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = platforms.find((platform) => words.includes(platform));
  const cpu = processors.find((processor) => words.includes(processor));
  if (os === undefined || cpu === undefined) throw new Error(`${name}: no platform in its name: add it by hand`);
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc';
  return { os: [os], cpu: [cpu], ...(os === 'linux' ? { libc: [libc] } : {}) };
}

const missing = Object.entries(lock.packages).flatMap(([from, { optionalDependencies = {}, ...parent }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !isPresent(from, name))
    .map(([name, version]) => ({ name, version, parent })),
);
for (const { name, version, parent } of missing) {
  const { os, cpu, libc } = platformOf(name);
  lock.packages[`node_modules/${name}`] = {
    version,
    cpu,
    ...(parent.dev ? { dev: true } : {}),
    ...(libc === undefined ? {} : { libc }),
    ...(parent.license === undefined ? {} : { license: parent.license }),
    optional: true,
    os,
    ...(parent.engines === undefined ? {} : { engines: parent.engines }),
  };
}

const names = missing.map(({ name }) => name);
if (process.argv.includes('--check') && names.length > 0) {
  console.error(`package-lock.json lacks ${names.join(', ')}: run node test/package/lock-file.mjs`);
  process.exitCode = 1;
} else if (names.length > 0) {
  const [root, ...rest] = Object.keys(lock.packages);
  const order = [root, ...rest.sort((a, b) => a.localeCompare(b, 'en'))];
  lock.packages = Object.fromEntries(order.map((key) => [key, lock.packages[key]]));
  writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
  console.log(`added ${names.length} packages to package-lock.json`);
}
