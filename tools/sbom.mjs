// Writes the list of what a release brings along (SBOM, CycloneDX) to standard output: npm run --silent sbom > FILE
//
// `npm sbom --omit dev` leaves out packages that development needs, too, such as ajv, and those that are bundled in.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const MAX_BYTES = 64 * 1024 * 1024;
const DEVELOPMENT = 'cdx:npm:package:development';

const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** The build lists them with their licences. */
const bundled = readFileSync(join(root, 'dist/NOTICES.txt'), 'utf8').matchAll(
  /^(@?[a-z][\w./-]*) (\d+\.\d+\.\d+\S*)$/gm,
);
const all = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { cwd: root, encoding: 'utf8', maxBuffer: MAX_BYTES }),
);
const own = all.metadata.component['bom-ref'];
const dependsOn = new Map(all.dependencies.map((one) => [one.ref, one.dependsOn ?? []]));

/** What is installed with the package, and what is in it. */
function brought() {
  const nameOf = (ref) => ref.slice(0, ref.lastIndexOf('@'));
  const direct = dependsOn.get(own).filter((ref) => nameOf(ref) in dependencies);
  if (direct.length < Object.keys(dependencies).length) throw new Error(`not all dependencies are there: ${direct}`);
  return [...direct, ...[...bundled].map(([, name, version]) => `${name}@${version}`)];
}

const firsts = brought();
const kept = new Set();
const keep = (ref) => {
  if (kept.has(ref)) return;
  if (!dependsOn.has(ref)) throw new Error(`npm does not know ${ref}: is the build that of what is installed?`);
  kept.add(ref);
  for (const next of dependsOn.get(ref)) keep(next);
};
for (const ref of firsts) keep(ref);

const components = all.components
  .filter((component) => kept.has(component['bom-ref']))
  .map((one) => ({ ...one, properties: one.properties?.filter(({ name }) => name !== DEVELOPMENT) }));
const list = { ...all, components };
list.dependencies = [{ ref: own, dependsOn: firsts }, ...all.dependencies.filter(({ ref }) => kept.has(ref))];
console.log(JSON.stringify(list, null, 2));
