// Source maps of lines: for each line of what is built, where it is in the sources. Rolldown maps every token, which
// made the maps a quarter of the package. Stack traces keep file and line of the source; of its columns, they have that
// of the statement. Names are those of the code, which nothing shortens.
import { readFile, writeFile } from 'node:fs/promises';
import { decode, encode } from '@jridgewell/sourcemap-codec';

/** Thins out the map of a built file, if it has one. */
export async function keepLines(path) {
  const map = JSON.parse(await readFile(path, 'utf8'));
  const mappings = encode(decode(map.mappings).map(placesOf));
  await writeFile(path, JSON.stringify({ ...map, names: [], mappings }));
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
