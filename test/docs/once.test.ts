/** Each fact stands on one page: no two guides have a sentence that says the other one's, and none has a word that readers stumble over. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const BANNED = /\b(nobody|told|whoever|in place of|is none|anew)\b/i;

/** Pages that repeat by their nature: an index, and what is made of doc comments, which have to stand alone. */
const REPEATING = ['README.md', 'options.md', 'errors.md'];
const guides = [
  'README.md',
  ...markdownOf('docs').filter((path) => !REPEATING.some((name) => path === `docs/${name}`)),
];
const everything = [...guides, ...REPEATING.map((name) => `docs/${name}`), ...markdownOf('docs/api')];

/** Pages of one kind of thing, of which a reader needs one: what they say alike is about different brokers. */
const BROKERS = ['redis-streams.md', 'jetstream.md', 'mqtt.md', 'rabbitmq.md', 'kafka.md'];

/** Words that any two sentences share. */
const COMMON = new Set(
  `a an the and or but nor of to in on at by for from with without as is are was were be been being has have had do does
  did it its it's they their them this that these those which who what when where while if then than so such not no only
  also too can may must will would should could one ones other others another all each every both some any there here
  more most after before over under until unless up out into same own his her you your we our how why`.split(/\s+/),
);

interface Sentence {
  readonly page: string;
  readonly text: string;
  /** Its words and pairs of neighbouring words, without the common ones. */
  readonly parts: ReadonlySet<string>;
  readonly words: number;
}

function markdownOf(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, root))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${folder}/${file}`);
}

function proseOf(page: string): string {
  return readFileSync(new URL(page, root), 'utf8').replaceAll(/^ *(```+)[\s\S]*?^ *\1$/gm, '');
}

/** Sentences, their halves at a colon or semicolon, and cells of tables, of nine words and more. */
function sentencesOf(page: string, prose: string): Sentence[] {
  return prose
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .flatMap((line) => (line.startsWith('|') ? line.split(/(?<!\\)\|/) : [line]))
    .flatMap((line) => line.split(/(?<=[.;:!?])\s+/))
    .flatMap((text) => sentenceOf(page, text.trim()) ?? []);
}

function sentenceOf(page: string, text: string): Sentence | undefined {
  const all =
    text
      .replaceAll(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? [];
  const words = all.filter((word) => !COMMON.has(word)).map(stemOf);
  const pairs = words.slice(1).map((word, index) => `${words[index]} ${word}`);
  const different = new Set(words).size;
  if (all.length < 9 || different < 4) return undefined;
  return { page, text, parts: new Set([...words, ...pairs]), words: different };
}

function stemOf(word: string): string {
  return word.replace(/ies$/, 'y').replace(/(?<=..)(es|s|ed|d|ing)$/, '');
}

/** Short sentences of one subject share half of their words by chance, so they need more. */
function saysTheSame(a: Sentence, b: Sentence, shared: number): boolean {
  const similarity = (2 * shared) / (a.parts.size + b.parts.size);
  return similarity >= (Math.min(a.words, b.words) < 6 ? 0.7 : 0.5);
}

function areOne(page: string, other: string): boolean {
  const isBroker = (path: string): boolean => BROKERS.some((name) => path === `docs/${name}`);
  return page === other || (isBroker(page) && isBroker(other));
}

function repeatedIn(sentences: readonly Sentence[]): string[] {
  const byPart = new Map<string, Sentence[]>();
  return sentences.flatMap((sentence) => {
    const shared = new Map<Sentence, number>();
    for (const part of sentence.parts) {
      const earlier = byPart.get(part) ?? [];
      for (const other of earlier)
        if (!areOne(other.page, sentence.page)) shared.set(other, (shared.get(other) ?? 0) + 1);
      earlier.push(sentence);
      byPart.set(part, earlier);
    }
    return [...shared]
      .filter(([other, count]) => saysTheSame(other, sentence, count))
      .map(([other]) => `${other.page}: ${other.text}\n${sentence.page}: ${sentence.text}`);
  });
}

test('no sentence of a guide says what one of another guide says', () => {
  const sentences = guides.flatMap((page) => sentencesOf(page, proseOf(page)));
  expect(sentences.length).toBeGreaterThan(2_000);
  // Keep the fact on the page where it belongs, and link to it from the other.
  expect(repeatedIn(sentences)).toEqual([]);
});

test('sentences that differ in their words for joining are found, and those of one subject are not', () => {
  const kept = 'A job that runs once and has failed for good [is kept](jobs.md) for a week.';
  const first = sentencesOf('first.md', `${kept}\n\n| The name is taken; the job is left alone |`);
  const same = sentencesOf('second.md', 'One job that runs once and fails for good is kept for a week.');
  const other = sentencesOf('second.md', 'A job that is paused does not run before it is resumed, on no host.');
  expect(first).toHaveLength(1);
  expect(repeatedIn([...first, ...same])).toEqual([`first.md: ${kept}\nsecond.md: ${same[0]?.text}`]);
  expect(repeatedIn([...first, ...other])).toEqual([]);
  expect(repeatedIn([...first, ...first])).toEqual([]);
});

test.each(everything)('%s has none of the words that make readers read twice', (page) => {
  const lines = proseOf(page)
    .replaceAll(/`[^`\n]*`/g, '')
    .split('\n');
  expect(lines.filter((line) => BANNED.test(line))).toEqual([]);
});
