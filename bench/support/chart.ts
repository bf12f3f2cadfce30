/** A series of a chart: a value for each step. */
export interface Series {
  readonly label: string;
  readonly values: readonly number[];
}

const WIDTH = 720;
const HEIGHT = 110;
const GAP = 46;
const LEFT = 56;

/** An SVG with a panel for each series, one below the other, each with its own scale from zero. */
export function chartOf(steps: string, series: readonly Series[]): string {
  const height = series.length * (HEIGHT + GAP) + 20;
  const panels = series.map((one, at) => panelOf(one, at * (HEIGHT + GAP) + 24, steps));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${panels.join('\n')}
</svg>
`;
}

function panelOf({ label, values }: Series, top: number, steps: string): string {
  const max = Math.max(...values) * 1.1 || 1;
  const right = WIDTH - 16;
  const x = (at: number): number => LEFT + ((right - LEFT) * at) / Math.max(1, values.length - 1);
  const y = (value: number): number => top + HEIGHT - (HEIGHT * value) / max;
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const digits = max < 20 ? 1 : 0;
  return `<text x="${LEFT}" y="${top - 6}" fill="#222">${label}</text>
<line x1="${LEFT}" y1="${top + HEIGHT}" x2="${right}" y2="${top + HEIGHT}" stroke="#999"/>
<line x1="${LEFT}" y1="${top}" x2="${LEFT}" y2="${top + HEIGHT}" stroke="#999"/>
<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end" fill="#555">${max.toFixed(digits)}</text>
<text x="${LEFT - 6}" y="${top + HEIGHT}" text-anchor="end" fill="#555">0</text>
<text x="${right}" y="${top + HEIGHT + 14}" text-anchor="end" fill="#555">${values.length} ${steps}</text>
<polyline points="${points}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>`;
}
