/** Tests a text; null: the pattern is not one RE2 knows. */
export type PatternTest = ((text: string) => boolean) | null;

const MAX_KEPT = 500;
const compiled = new Map<string, PatternTest>();

/**
 * Compiles a pattern with re2js, whose time is linear in the text: patterns come from repositories and the engine's own RegExp
 * would let them block the process. The library is loaded when the first pattern is met.
 * @returns null for what RE2 has not (look-around, back references)
 */
export async function compilePattern(pattern: string): Promise<PatternTest> {
  const kept = compiled.get(pattern);
  if (kept !== undefined) return kept;
  const { RE2JS } = await import('re2js');
  let test: PatternTest = null;
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    test = (text) => expression.matcher(text).find();
  } catch {
    // Any refusal of the library means the same: this pattern cannot be checked.
  }
  if (compiled.size >= MAX_KEPT) compiled.clear();
  compiled.set(pattern, test);
  return test;
}
