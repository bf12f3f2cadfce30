/** A building block of Dapr's that there is not. */
export interface AbsentBlock {
  /** In words, in the plural. */
  readonly what: string;
  /** The first segments of its paths behind the version. */
  readonly operations: readonly string[];
  /** The categories of its components. */
  readonly categories: readonly string[];
}

/** A change that adds a block removes its line: routes, warnings and notes about components follow. */
export const ABSENT_BLOCKS: readonly AbsentBlock[] = [
  { what: 'actors', operations: ['actors'], categories: [] },
  { what: 'bindings', operations: ['bindings'], categories: ['bindings'] },
  { what: 'conversations', operations: ['conversation'], categories: ['conversation'] },
  { what: 'cryptography', operations: ['crypto', 'subtlecrypto'], categories: ['crypto'] },
];

/** The block of a component type, if there is not such a block. */
export function absentBlockOf(componentType: string): AbsentBlock | undefined {
  const [category = ''] = componentType.split('.', 1);
  return ABSENT_BLOCKS.find(({ categories }) => categories.includes(category));
}
