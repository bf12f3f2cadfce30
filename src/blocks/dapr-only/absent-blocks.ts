/** A building block of Dapr's that there is not. */
export interface AbsentBlock {
  /** In words, in the plural. */
  readonly what: string;
  /** The first segments of its paths behind the version. */
  readonly operations: readonly string[];
}

/** A change that adds a block removes its line: routes and warnings follow. */
export const ABSENT_BLOCKS: readonly AbsentBlock[] = [
  { what: 'conversations', operations: ['conversation'] },
  { what: 'cryptography', operations: ['crypto', 'subtlecrypto'] },
];
