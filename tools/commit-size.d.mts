export declare function largeCommits(
  cwd: string,
  range: readonly string[],
  maxLines?: number,
): readonly { readonly title: string; readonly lines: number }[];
