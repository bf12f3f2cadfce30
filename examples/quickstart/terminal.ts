const isTerminal = process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined;
const CODES = { green: 32, red: 31, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;

/** A style of text in a terminal. */
export type Style = keyof typeof CODES;

/** Text in a style; as it is when the output is no terminal. */
export function styled(style: Style, text: string): string {
  return isTerminal ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text;
}

/** Prints rows as columns; the first row is the heading. */
export function printTable(rows: readonly (readonly string[])[], styleOf: (row: readonly string[]) => Style): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  rows.forEach((row, index) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    console.log(`  ${styled(index === 0 ? 'dim' : styleOf(row), line.trimEnd())}`);
  });
}
