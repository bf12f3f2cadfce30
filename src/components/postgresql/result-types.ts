/** Turns the text of a value into the value. */
type Parser = (text: string) => unknown;

/** The types of the columns that the functions of the schema return, by their numbers in PostgreSQL. */
const BOOL = 16;
const BYTEA = 17;
const INT4 = 23;
const INT8 = 20;
const BYTEA_ARRAY = 1001;
const INT4_ARRAY = 1007;

const PARSERS: ReadonlyMap<number, Parser> = new Map<number, Parser>([
  [BOOL, (text) => text === 't'],
  [BYTEA, byteaOf],
  [INT4, Number],
  [INT8, Number],
  [BYTEA_ARRAY, (text) => itemsOf(text).map(byteaOf)],
  [INT4_ARRAY, (text) => itemsOf(text).map(Number)],
]);

const asText: Parser = (text) => text;

/**
 * How a client of ours reads results: as text, by these parsers alone. Those of the package are global, and an
 * application changes them for its own queries (`types.setTypeParser`).
 */
export const resultTypes: { readonly getTypeParser: (type: number) => Parser } = {
  getTypeParser: (type) => PARSERS.get(type) ?? asText,
};

/** Both forms of the setting `bytea_output`: `hex`, and `escape` with octal numbers. */
function byteaOf(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  const plain = text.replaceAll(/\\(?:(\\)|([0-7]{3}))/g, (_all, backslash: string | undefined, octal: string) =>
    backslash === undefined ? String.fromCharCode(Number.parseInt(octal, 8)) : backslash,
  );
  return Buffer.from(plain, 'latin1');
}

const ITEM = /"((?:[^"\\]|\\.)*)"|([^{},"]+)/g;

/** The items of an array without dimensions and nulls: `{1,2}`, `{"\\x00","\\x01"}`. */
function itemsOf(text: string): readonly string[] {
  return [...text.matchAll(ITEM)].map(([, quoted, plain = '']) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain);
}
