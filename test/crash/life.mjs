// What every program that the harness starts and kills has: its arguments, and how it says what it did.
import { writeSync } from 'node:fs';

/** The directory of the state. */
export const [path] = process.argv.slice(2);
/** Which life this is, from 0. */
export const life = process.env.LIFE;
/** Whether nobody will kill it: it ends by itself. */
export const last = process.env.LAST === '1';

/** Says a line: complete, and safe from a kill, when this returns. */
export const say = (line) => writeSync(1, `${line}\n`);

/** Tells of errors only. */
export const logger = {
  debug() {},
  info() {},
  warn() {},
  error: (details, message) => process.stderr.write(`${message} ${JSON.stringify(details)} ${details.error?.stack}\n`),
};
