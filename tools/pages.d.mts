/** What makes each document, by its path. It throws for a comment that lacks something. */
export const PAGES: Readonly<Record<string, () => string>>;
