// What is in the tarball, and how much.
import { check, packed, repository, run } from './harness.mjs';

const MAX_PACKED_BYTES = 1_350_000;
const EXPECTED =
  /^(dist\/.*\.(cjs|cjs\.map|mjs|d\.mts|d\.ts|txt)|dist\/types\/package\.json|docs\/.*\.md|examples\/.*|schemas\/.*\.json|README\.md|CHANGELOG\.md|LICENSE|package\.json)$/;

export function contents() {
  packed();
  const { said } = run(repository, 'npm', 'pack', '--dry-run', '--json', '--silent');
  const [{ size, unpackedSize, files }] = JSON.parse(said);
  const others = files.map(({ path }) => path).filter((path) => !EXPECTED.test(path));
  check('nothing is packed by accident', {
    ok: others.length === 0,
    said: `${files.length} files`,
    output: `${others}`,
  });
  const sizes = `${size} bytes, ${unpackedSize} unpacked`;
  check(`at most ${MAX_PACKED_BYTES} bytes`, { ok: size <= MAX_PACKED_BYTES, said: sizes, output: sizes });
  const list = run(repository, process.execPath, 'tools/sbom.mjs');
  const names = list.ok ? JSON.parse(list.said).components.map(({ name }) => name) : [];
  // Installed, needed by development as well, bundled in, bundled into the page; and what only development needs.
  const ok =
    ['cloudevents', 'ajv', 'yaml', 'preact'].every((name) => names.includes(name)) && !names.includes('vitest');
  check('the list of what a release brings along is complete', { ...list, ok, said: `${names.length} packages` });
}
