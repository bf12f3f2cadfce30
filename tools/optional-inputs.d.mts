/** The optional fields in what the modules take, by default the entry points, whose type lacks `undefined`. */
export function fieldsWithoutUndefined(files?: readonly string[]): readonly string[];
