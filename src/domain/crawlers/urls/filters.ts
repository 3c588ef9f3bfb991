/** Tests a URL; linear in its length. */
export type UrlPattern = (url: string) => boolean;

/**
 * Compiles patterns of `include` or `exclude` once for a run, in RE2 syntax and unanchored. The library is loaded when the first
 * pattern is met.
 * @throws PatternError for one that does not compile; crawlers never store such
 */
export async function compilePatterns(patterns: readonly string[]): Promise<UrlPattern[]> {
  if (patterns.length === 0) return [];
  const { RE2JS } = await import('re2js');
  return patterns.map((pattern, index) => {
    try {
      const expression = RE2JS.compile(pattern);
      return (url) => expression.test(url);
    } catch (error) {
      throw new PatternError(index, error instanceof Error ? error.message : String(error));
    }
  });
}

/** A pattern RE2 does not know. */
export class PatternError extends Error {
  /** Its place in the list. */
  readonly index: number;
  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}
