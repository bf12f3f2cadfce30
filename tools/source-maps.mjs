// Source maps of lines: for each line of what is built, where it is in the sources. Rolldown maps every token, which
// made the maps a quarter of the package. Stack traces keep file and line of the source; of its columns, they have that
// of the statement. Names are those of the code, which nothing shortens.
import { readFile, writeFile } from 'node:fs/promises';
import { decode, encode } from '@jridgewell/sourcemap-codec';

/** Where the sources of this version are: they are not in the package. */
const { repository, version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const [, project] = /github\.com\/(.+?)\.git$/.exec(repository.url);
const PUBLISHED = `https://raw.githubusercontent.com/${project}/v${version}/`;

/** Thins out the map of a built file, and leads to its sources. */
export async function keepLines(path) {
  const map = JSON.parse(await readFile(path, 'utf8'));
  const sources = map.sources.map((source) => source.replace(/^\.\.\/(?=src\/)/, PUBLISHED));
  const mappings = encode(decode(map.mappings).map(placesOf));
  await writeFile(path, JSON.stringify({ ...map, sources, names: [], mappings }));
}

/** Of the segments of a line, those whose source or line differs from that of the one before. */
function placesOf(segments) {
  const places = [];
  let last;
  for (const [column, source, line, sourceColumn] of segments) {
    if (source === undefined || (last?.source === source && last.line === line)) continue;
    // The first one is for the whole line: a name in its beginning is looked up, too.
    places.push([places.length === 0 ? 0 : column, source, line, sourceColumn]);
    last = { source, line };
  }
  return places;
}
