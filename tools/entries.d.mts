/** The files of `dist` behind the entry points of `src/components`, by folder. */
export const TECHNOLOGIES: Readonly<Record<string, string>>;
/** The same for what these share. */
export const SHARED_BY_TECHNOLOGIES: Readonly<Record<string, string>>;
/** The sources of the entry points, by the name of their files in `dist`. */
export const ENTRIES: Readonly<Record<string, string>>;
/** How an entry is imported. */
export function importOf(name: string): string;
