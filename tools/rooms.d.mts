/** The imports that are not allowed, in words. `files` has the texts by path below `src`. */
export function problemsOf(files: ReadonlyMap<string, string>): string[];
