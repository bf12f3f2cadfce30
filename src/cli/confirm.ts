import { createInterface, type ReadLineOptions } from 'node:readline';

/** Asks a question. Anything but yes is no, the end of the input too. */
export async function confirm(question: string, streams: Pick<ReadLineOptions, 'input' | 'output'>): Promise<boolean> {
  const asked = createInterface(streams);
  const answer = await new Promise<string>((resolve) => {
    asked.once('close', () => resolve(''));
    asked.question(`${question} [y/N] `, resolve);
  });
  asked.close();
  return /^\s*y(es)?\s*$/i.test(answer);
}
